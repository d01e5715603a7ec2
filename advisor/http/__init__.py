"""The HTTP face: endpoints, the page, and everything between them and the network."""

import sys
from typing import Any

from exporter.stand_ins import standing_in

# FastAPI asks of each annotation whether it is a model of Pydantic 1, which Pydantic 2 still ships. None here is, and
# without it FastAPI says no: 1.5 MiB less memory (tests/advisor/test_memory.py).
sys.modules.setdefault("pydantic.v1", None)  # type: ignore[arg-type]

# FastAPI's models of OpenAPI documents are imported where a document is made, which the sidecar never does: 2.5 MiB
# less. Its classes of logins take some of them, and nothing here uses those classes.
_OPENAPI = {
    "fastapi.openapi.models": (
        "APIKey",
        "APIKeyIn",
        "Example",
        "HTTPBase",
        "HTTPBearer",
        "OAuth2",
        "OAuthFlows",
        "OpenIdConnect",
        "SecurityBase",
    ),
    "fastapi.openapi.utils": ("get_openapi",),
}
with standing_in(_OPENAPI):
    import fastapi.applications


def _get_openapi(**document: Any) -> dict[str, Any]:
    from fastapi.openapi.utils import get_openapi  # noqa: PLC0415

    return get_openapi(**document)


fastapi.applications.get_openapi = _get_openapi  # type: ignore[attr-defined]

# uvicorn imports its command line, which starts processes, and what would read a configuration of logs. Nothing here
# uses them: 1 MiB less.
_UNUSED = {"uvicorn.main": ("Server", "main", "run"), "configparser": ("RawConfigParser",), "logging.config": ()}
with standing_in(_UNUSED):
    import uvicorn  # noqa: F401
