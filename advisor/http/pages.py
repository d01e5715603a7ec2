"""The page that shows the advice, and /docs. All that they load comes from here: nothing from another host."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, HTTPException
from fastapi.responses import FileResponse

_OWN = Path(__file__).parent / "page"
_SWAGGER = Path(str(files("fastapi_offline"))) / "static"  # the package has Swagger UI's files; its code is not used
_FILES = {
    "page.js": (_OWN, "text/javascript"),
    "page.css": (_OWN, "text/css"),
    "docs.js": (_OWN, "text/javascript"),
    "swagger-ui-bundle.js": (_SWAGGER, "text/javascript"),
    "swagger-ui.css": (_SWAGGER, "text/css"),
}
_POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
_SWAGGER_POLICY = f"{_POLICY}; img-src 'self' data:"  # its style sheet has its icons in it


def add(app: FastAPI) -> None:
    """Add the pages and their files."""

    @app.get("/", include_in_schema=False)
    async def index() -> FileResponse:
        return _file(_OWN / "index.html", "text/html", _POLICY)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return _file(_OWN / "docs.html", "text/html", _SWAGGER_POLICY)

    @app.get("/page/{name}", include_in_schema=False)
    async def page(name: str) -> FileResponse:
        if name not in _FILES:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        folder, media_type = _FILES[name]
        return _file(folder / name, media_type, _POLICY)


def _file(path: Path, media_type: str, policy: str) -> FileResponse:
    headers: Mapping[str, str] = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-cache",
    }  # asked after, by ETag
    return FileResponse(path, media_type=media_type, headers=headers)
