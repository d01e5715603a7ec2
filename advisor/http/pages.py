"""The page that shows the advice, and /docs. All that they load comes from here: nothing from another host."""

from __future__ import annotations

from http import HTTPStatus
from importlib.resources import files
from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse, HTMLResponse

from advisor.render import html

_OWN = Path(__file__).parent / "page"
_SWAGGER = Path(str(files("fastapi_offline"))) / "static"  # only Swagger UI's files are used, not the package's code
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FILES = {
    **{each.relative_to(_OWN).as_posix(): each for each in sorted(_OWN.rglob("*")) if each.suffix in _TYPES},
    **{name: _SWAGGER / name for name in ("swagger-ui-bundle.js", "swagger-ui.css")},
}
"""What the pages load, by the path behind /page/."""
OPENAPI = Path(__file__).with_name("openapi.json")
"""What FastAPI says of the application, made by tools/docs.py: made here, it would take 5 MiB."""
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
_SWAGGER_POLICY = f"{POLICY}; img-src 'self' data:"  # its style sheet contains its icons

router = APIRouter(include_in_schema=False)


@router.get("/")
async def index() -> FileResponse:
    """The page that shows the advice."""
    return opened()


def opened() -> FileResponse:
    """The page that shows the advice; at some paths programs get data instead."""
    page = _file(_OWN / "index.html", "text/html", POLICY)
    page.headers["Vary"] = "Accept"
    return page


def read(title: str, content: str, depth: int = 0) -> HTMLResponse:
    """A page for people, at a path where programs get data instead.

    Args:
        title: As text.
        content: HTML.
        depth: Folders between the sidecar's root and the page.
    """
    # Names in a recording need not be valid text.
    written = html.page(title, content, depth).encode("utf-8", "replace")
    return HTMLResponse(written, headers={"Content-Security-Policy": POLICY, "Vary": "Accept"})


@router.get("/docs")
async def docs() -> FileResponse:
    """Swagger UI."""
    return _file(_OWN / "docs.html", "text/html", _SWAGGER_POLICY)


@router.get("/openapi.json")
async def openapi() -> FileResponse:
    """The description for programs."""
    return FileResponse(OPENAPI, media_type="application/json")


@router.get("/page/{name:path}")
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
