"""Connections that say nothing, too little, too slowly, or are too many; through real sockets."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from advisor.http.connections import HANDSHAKE_SECONDS, SECONDS
from advisor.http.crowd import CONNECTIONS, CONNECTIONS_OF_ONE
from tests.advisor.building import RECORDING, capture
from tests.advisor.http.certificates import Authority
from tests.advisor.http.secured import Secured
from tests.advisor.sidecar import Sidecar
from tests.waiting import wait_for

Serve = Callable[..., Sidecar]
ASK = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
HEAD = b"POST /whatif HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def fresh(serve: Serve) -> Sidecar:
    return serve("--recording", capture(RECORDING))


def connect(sidecar: Sidecar, stack: ExitStack, sent: bytes = b"", own: str = "127.0.0.1") -> socket.socket:
    address = urlsplit(sidecar.url)
    made = socket.create_connection((str(address.hostname), int(address.port or 0)), 30, source_address=(own, 0))
    stack.callback(made.close)
    made.sendall(sent)
    return made


def ended(connection: socket.socket) -> bool:
    """Whether the other side has closed it; what it sent before is read."""
    while select.select([connection], [], [], 0)[0]:
        try:
            if not connection.recv(65536):
                return True
        except ConnectionError:
            return True
    return False


def answer(connection: socket.socket) -> tuple[bytes, bytes]:
    """Head and body of what comes until the connection is closed."""
    found = b""
    while part := connection.recv(65536):
        found += part
    head, _, body = found.partition(b"\r\n\r\n")
    return head.lower(), body


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000]
)
def test_what_is_no_http_is_a_problem_and_not_worth_a_line_in_the_log(
    fresh: Sidecar, stack: ExitStack, sent: bytes
) -> None:
    head, body = answer(connect(fresh, stack, sent + b"\r\n\r\n"))
    assert head.startswith(b"http/1.1 400 bad request\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"x-content-type-options: nosniff" in head
    assert b"this is no HTTP request, or its header is longer than 16 KiB" in body
    assert "WARNING" not in fresh.log()


def test_a_request_that_does_not_come_in_time_is_not_waited_for(fresh: Sidecar, stack: ExitStack) -> None:
    began = time.monotonic()
    silent = connect(fresh, stack)
    half = connect(fresh, stack, b"GET /metrics HTTP/1.1\r\nHost: loc")
    trickling = connect(fresh, stack, b"GET /metrics HTTP/1.1\r\n")
    body = connect(fresh, stack, HEAD + b"Content-Length: 1000\r\n\r\n{")
    chunks = connect(fresh, stack, HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n")
    late = connect(fresh, stack, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\n")
    slow = {trickling: b"X-A: b\r\n", body: b" ", chunks: b"1\r\n \r\n", late: b"X-A: b\r\n"}
    everyone = [silent, half, *slow]

    def all_ended() -> bool:
        for connection, part in slow.items():
            try:
                connection.sendall(part)
            except ConnectionError:
                continue
        assert fresh.get("/healthz").status_code == 200
        still = [each for each in everyone if not ended(each)]
        return not still

    wait_for(all_ended)
    assert time.monotonic() - began > SECONDS["reading"] / 2
    assert "Traceback" not in fresh.log()


def test_a_slow_but_honest_client_is_answered(fresh: Sidecar, stack: ExitStack) -> None:
    slow = connect(fresh, stack)
    for part in (b"GET /healthz HTTP/1.1\r\n", b"Host: local", b"host\r\nConnection: close\r\n", b"\r\n"):
        slow.sendall(part)
        time.sleep(0.2)
    assert answer(slow)[1] == b"ok\n"


def test_requests_that_come_at_once_over_one_connection_are_answered_in_order(fresh: Sidecar, stack: ExitStack) -> None:
    ask = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /nope HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    head, rest = answer(connect(fresh, stack, ask % b"healthz" + ask % b"readyz" + last))
    assert head.startswith(b"http/1.1 200")
    assert rest.count(b"ok\n") == 2
    assert rest.index(b"HTTP/1.1 404") > rest.rindex(b"ok\n")


def test_a_handshake_that_does_not_come_is_not_waited_for(tmp_path: Path, stack: ExitStack) -> None:
    authority = Authority(tmp_path)
    authority.issue("server")
    sidecar = Secured(tmp_path, {"tls_server_config": {"cert_file": "server.pem", "key_file": "server.key"}})
    stack.callback(sidecar.kill)
    began = time.monotonic()
    silent = connect(sidecar, stack)
    wait_for(lambda: ended(silent))  # asyncio's own limit is 60
    assert time.monotonic() - began > HANDSHAKE_SECONDS / 2
    assert sidecar.status(verify=authority.trusting()) == 200


def test_a_silent_connection_makes_room_for_a_new_one_of_its_address(fresh: Sidecar, stack: ExitStack) -> None:
    greedy = [connect(fresh, stack, own="127.0.0.2") for _ in range(CONNECTIONS_OF_ONE + 5)]
    wait_for(lambda: sum(map(ended, greedy)) == 5)
    assert not any(map(ended, greedy[5:]))
    newest = connect(fresh, stack, ASK, own="127.0.0.2")
    assert answer(newest)[1] == b"ok\n"
    assert fresh.get("/metrics").status_code == 200


def test_silent_connections_of_many_addresses_keep_no_scrape_and_no_probe_out(fresh: Sidecar, stack: ExitStack) -> None:
    silent = [connect(fresh, stack, own=f"127.0.0.{2 + number % 20}") for number in range(2 * CONNECTIONS + 20)]
    for path in ("/metrics", "/healthz", "/readyz"):
        assert fresh.get(path).status_code == 200
    head, body = answer(connect(fresh, stack, ASK.replace(b"/healthz", b"/rules"), own="127.0.0.30"))
    assert head.startswith(b"http/1.1 503 service unavailable\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"retry-after: 1" in head
    assert b"too many connections at once; try again" in body
    assert sum(not ended(each) for each in silent) <= 2 * CONNECTIONS
