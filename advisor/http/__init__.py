"""The HTTP face: endpoints, the page, and everything between them and the network."""

import sys

from pydantic import BaseModel

from exporter.stand_ins import standing_in

# FastAPI asks of each annotation whether it is a model of Pydantic 1, which Pydantic 2 still ships. None here is, and
# without it FastAPI says no: 1.5 MiB less memory (tests/advisor/test_memory.py).
sys.modules.setdefault("pydantic.v1", None)  # type: ignore[arg-type]

# FastAPI's models of OpenAPI documents are built where a document is made, not on import: 1.3 MiB less.
BaseModel.model_config["defer_build"] = True
import fastapi  # noqa: E402, F401

del BaseModel.model_config["defer_build"]

# uvicorn imports its command line, which starts processes, and what would read a configuration of logs. Nothing here
# uses them: 1 MiB less.
_UNUSED = {"uvicorn.main": ("Server", "main", "run"), "configparser": ("RawConfigParser",), "logging.config": ()}
with standing_in(_UNUSED):
    import uvicorn  # noqa: F401
