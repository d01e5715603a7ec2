"use strict";
// Swagger UI over this sidecar's own description. Its validator would ask another host.

SwaggerUIBundle({ url: "/openapi.json", dom_id: "#api", validatorUrl: null, deepLinking: true });
