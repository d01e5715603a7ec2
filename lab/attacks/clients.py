"""Clients that behave badly: raw sockets from any address of the loopback network."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from lab.attacks.attack import Sidecar

CONNECT_SECONDS = 10.0
_FILES = 20_000


def request(method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> bytes:
    """A request as it goes over the wire."""
    sent = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        *(f"{name}: {each}" for name, each in (headers or {}).items()),
    ]
    if method != "GET":
        lines += ["Content-Type: application/json", f"Content-Length: {len(sent)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + sent


def connect(sidecar: Sidecar, number: int = 0) -> socket.socket:
    """A connection from 127.0.1.<number>, or from 127.0.0.1 for 0."""
    where = urlsplit(sidecar.url)
    own = f"127.0.{1 + number // 250}.{1 + number % 250}" if number else "127.0.0.1"
    return socket.create_connection(
        (str(where.hostname), int(where.port or 0)), CONNECT_SECONDS, source_address=(own, 0)
    )


def abandon(sidecar: Sidecar, sent: bytes, number: int = 0) -> None:
    """Send a request, and close the connection at once."""
    with contextlib.suppress(OSError), connect(sidecar, number) as connection:
        connection.sendall(sent)


def status(sidecar: Sidecar, sent: bytes, number: int = 0) -> int | None:
    """The status of the answer to a request; None where there is none."""
    with contextlib.suppress(OSError), connect(sidecar, number) as connection:
        connection.settimeout(60.0)
        connection.sendall(sent)
        head = connection.recv(4096)
        if head.startswith(b"HTTP/1.1 "):
            return int(head[9:12])
    return None


@contextlib.contextmanager
def many_files() -> Iterator[int]:
    """Let this process have many connections; gives how many files it may have open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    try:
        yield max(soft, most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
