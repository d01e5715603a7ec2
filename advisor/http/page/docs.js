"use strict";
// Swagger UI for this sidecar's API. Its validator stays off, because it would call another host.

SwaggerUIBundle({ url: "openapi.json", dom_id: "#api", validatorUrl: null, deepLinking: true });
