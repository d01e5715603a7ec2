"""The page that shows the advice, and /docs. All that they load comes from here: nothing from another host."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http import HTTPStatus
from importlib import resources
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import FileResponse

from advisor.http.answers import HTML, JSON, NEGOTIATED, written
from advisor.render import html

_OWN = Path(__file__).parent / "page"
_SWAGGER = (
    Path(str(resources.files("fastapi_offline"))) / "static"
)  # only Swagger UI's files are used, not the package's code
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FILES = {
    **{file.relative_to(_OWN).as_posix(): file for file in sorted(_OWN.rglob("*")) if file.suffix in _TYPES},
    **{name: _SWAGGER / name for name in ("swagger-ui-bundle.js", "swagger-ui.css")},
}
"""What the pages load, by the path behind /page/."""
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
_SWAGGER_POLICY = f"{POLICY}; img-src 'self' data:"  # its style sheet contains its icons

_DESCRIBING = threading.Lock()

index = APIRouter(include_in_schema=False)
files = APIRouter(include_in_schema=False)


@index.get("/")
async def root() -> FileResponse:
    """The page that shows the advice."""
    return opened()


def opened() -> FileResponse:
    """The page that shows the advice; at some paths programs get data instead."""
    page = _file(_OWN / "index.html", "text/html", POLICY)
    page.headers.update(NEGOTIATED)
    return page


def read(title: str, content: str, depth: int = 0, links: Mapping[str, str] = html.LINKS) -> Response:
    """A page for people, at a path where programs get data instead.

    Args:
        title: As text.
        content: HTML.
        depth: Folders between the service's root and the page.
        links: Names of other pages by path.
    """
    headers = {"Content-Security-Policy": POLICY, **NEGOTIATED}
    return written(html.page(title, content, depth, links), HTML, headers)


@files.get("/docs")
async def docs() -> FileResponse:
    """Swagger UI."""
    return _file(_OWN / "docs.html", "text/html", _SWAGGER_POLICY)


@files.get("/openapi.json")
def openapi(request: Request) -> Response:  # in a thread: FastAPI takes half a second of a core for it, once
    """The description for programs."""
    with _DESCRIBING:
        document = request.app.openapi()
    return Response(json.dumps(document, ensure_ascii=False), media_type=JSON)


@files.get("/page/{name:path}")
async def page(name: str) -> FileResponse:
    """A file that one of the pages loads."""
    if name not in FILES:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    path = FILES[name]
    return _file(path, _TYPES[path.suffix], POLICY)


def _file(path: Path, media_type: str, policy: str) -> FileResponse:
    """A file that browsers ask for again by its ETag."""
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}
    return FileResponse(path, media_type=media_type, headers=headers)
