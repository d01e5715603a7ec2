"""Refuses what the page of another site makes a visitor's browser ask, by headers that no page can forge.

Such a page has two ways in. It asks for the service's own address: then the browser says that the request comes from
elsewhere, with Sec-Fetch-Site (https://www.w3.org/TR/fetch-metadata/) or Origin. Or its site gives a name of its own
the service's address (DNS rebinding): the browser takes both for one site then, and only the name in Host differs.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

SECURITY_HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}
"""Headers of every response; an endpoint may set its own instead."""
_READING = ("GET", "HEAD", "OPTIONS")
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:/?#@\[\]]*))(?::\d{0,5})?")
_PRIVATE = (".local", ".internal", ".home.arpa")
"""Ends of names that nobody can register (RFC 6762, RFC 8375; ICANN's resolution 2024.07.29.06)."""
_OF_BROWSERS = ("accept-language", "origin", "referer", "sec-fetch-site")
"""Every browser sends the first with every request. A page can change its value, and cannot take it away
(https://fetch.spec.whatwg.org/#http-network-or-cache-fetch). Prometheus, the kubelet and curl send none of them."""


class Names:
    """The names that requests may use: no other site can give itself one of them.

    Args:
        allowed: Names that the owner allows.
        external_url: Where people reach it, through a proxy perhaps; None where that is not known.
        local: Only this machine can connect. Names of its network are refused then, also to programs.
    """

    def __init__(self, allowed: Iterable[str] = (), external_url: str | None = None, *, local: bool = False) -> None:
        page = urlsplit(external_url or "")
        self._origin = f"{page.scheme}://{page.netloc}".lower()
        self._allowed = {_plain(name) for name in (*allowed, page.hostname or "") if name}
        self._local = local

    def require(self, headers: Headers) -> None:
        """Refuse a request under another name.

        Where other machines connect, a program may use any name: no page controls it, and a scrape goes on whatever its
        target is called.

        Raises:
            HTTPException: 421.
        """
        browser = any(name in headers for name in _OF_BROWSERS)
        if self._knows(headers.get("host", "")) or not (self._local or browser):
            return
        raise HTTPException(
            HTTPStatus.MISDIRECTED_REQUEST,
            "this service does not go by that name: ask for it by an address, or allow the name (--allowed-host)",
        )

    def refuse_other_sites(self, method: str, headers: Headers) -> None:
        """Refuse a request that a page of another site makes, but for links to this one.

        Raises:
            HTTPException: 403.
        """
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None:
            own = site in ("same-origin", "none")
        elif origin is not None:
            own = origin.lower() in (f"{scheme}://{headers.get('host', '')}".lower() for scheme in ("http", "https"))
            own = own or origin.lower() == self._origin
        else:  # browsers before 2020 sent forms without Origin, and a form cannot change these two
            old = "accept-language" in headers and headers.get("user-agent", "").startswith("Mozilla/")
            own = method in _READING or not old
        link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") not in ("object", "embed")
        if not (own or (link and method in _READING)):
            raise HTTPException(HTTPStatus.FORBIDDEN, "a page of another site sent this")

    def _knows(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = _plain(match[1] or match[2])
        if name in ("", "localhost", *self._allowed) or name.endswith(".localhost") or _is_address(name):
            return True
        return not self._local and ("." not in name or name.endswith(_PRIVATE))


def _plain(name: str) -> str:
    return name.lower().removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
