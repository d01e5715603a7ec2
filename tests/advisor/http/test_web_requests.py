"""Requests that no honest client writes: two lengths, two hosts, paths that climb, headers that split; raw sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from advisor.advice.service import Service
from advisor.http import app as application
from advisor.http.browsers import Names
from advisor.http.guard import Guard
from advisor.observe.source import Replay
from tests.advisor.advice.watching import rulebook
from tests.advisor.building import RECORDING, capture
from tests.advisor.http.listening import Listener, answered, listening
from tests.advisor.http.standing import still
from tests.waiting import DEADLINE

JSON = b"Content-Type: application/json\r\n"
CLOSE, LAST_NAME = b"Connection: close", b"last-of-all"


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    app = application.create(Service(Replay(capture(RECORDING)), rulebook()))
    async with listening(Guard(app, names=Names(local=True), clock=still)) as listener:
        yield listener


async def answers(listener: Listener, sent: bytes) -> list[tuple[int, bytes]]:
    """Status and the rest of each answer, until the other side closes the connection.

    A last request asks for that. It cannot be asked for by half a close: who closes has gone, and gets no answer.
    """
    received = await answered(await listener.connect(sent if CLOSE in sent else sent + LAST))
    all_answers = [(int(answer[:3]), answer) for answer in received.split(b"HTTP/1.1 ")[1:]]
    return [answer for answer in all_answers if LAST_NAME not in answer[1]]


async def loaded(listener: Listener) -> object:
    """When the rules were loaded."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener.port}", timeout=DEADLINE) as client:
        return (await client.get("/state")).json()["rules"]


async def statuses(listener: Listener, *requests: bytes) -> list[int]:
    return [status for status, _ in await answers(listener, b"".join(requests))]


def head(method: str = "GET", path: str = "/healthz", *fields: str, host: str = "localhost") -> bytes:
    return "\r\n".join((f"{method} {path} HTTP/1.1", f"Host: {host}", *fields, "", "")).encode("latin-1")


LAST = head("GET", f"/rules/{LAST_NAME.decode()}", CLOSE.decode())
NEXT = head("GET", "/readyz")
"""What would be smuggled behind another request."""
TWO_LENGTHS = [
    pytest.param(("Content-Length: 5", "Transfer-Encoding: chunked"), id="length and chunked"),
    pytest.param(("Transfer-Encoding: chunked", "Content-Length: 5"), id="chunked and length"),
    pytest.param(("Content-Length: 5", "Content-Length: 6"), id="two lengths"),
    pytest.param(("Content-Length: 5, 6",), id="two lengths in one"),
    pytest.param(("Content-Length: +5",), id="a sign"),
    pytest.param(("Content-Length: 0x5",), id="hexadecimal"),
    pytest.param(("Content-Length: 5 ", "Content-Length: 7"), id="a blank"),
    pytest.param(("Content-Length: -1",), id="negative"),
    pytest.param(("Content-Length : 5",), id="a blank before the colon"),
    pytest.param(("Transfer-Encoding: xchunked",), id="an unknown coding"),
    pytest.param(("Transfer-Encoding: gzip, chunked",), id="two codings"),
    pytest.param(("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), id="two headers of coding"),
    pytest.param(("Transfer-Encoding:\x0bchunked",), id="an odd blank"),
    pytest.param(("X: a\0b",), id="a null"),
    pytest.param(("X: a\rTransfer-Encoding: chunked",), id="a bare carriage return"),
    pytest.param((" Transfer-Encoding: chunked",), id="a folded first line"),
]


@pytest.mark.parametrize("fields", TWO_LENGTHS)
async def test_a_request_whose_end_is_in_doubt_ends_the_connection(listener: Listener, fields: tuple[str, ...]) -> None:
    request = head("POST", "/nope", *fields) + b"0\r\n\r\n"
    if fields[0].startswith(" "):
        request = request.replace(b"Host: localhost\r\n Tr", b" Tr").replace(
            b"\r\n\r\n0", b"\r\nHost: localhost\r\n\r\n0"
        )
    codes = await statuses(listener, request, NEXT)
    assert codes in ([400], [501])


@pytest.mark.parametrize(
    "chunks",
    [
        b"+5\r\nhello\r\n0\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"5\r\nhelloXX0\r\n\r\n",
        b" 5\r\nhello\r\n0\r\n\r\n",
        b"5_0\r\nhello\r\n0\r\n\r\n",
        b"-1\r\n\r\n",
        b"fffffffffffffffffffff\r\nx",
    ],
)
async def test_malformed_chunks_end_the_connection(listener: Listener, chunks: bytes) -> None:
    codes = await statuses(listener, head("POST", "/nope", "Transfer-Encoding: chunked"), chunks, NEXT)
    assert 200 not in codes


async def test_one_length_twice_is_one_length(listener: Listener) -> None:
    assert await statuses(
        listener, head("POST", "/nope", "Content-Length: 5", "Content-Length: 5"), b"hello", NEXT
    ) == [
        404,
        200,
    ]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n", 421),
        (b"GET /healthz HTTP/1.0\r\n\r\n", 200),
        (b"GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n", 421),
        (b"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET http://localhost/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        (b"GET healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"TRACE / HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\n\r\n", 405),
        (b"PRI * HTTP/2.0\r\n\r\n", 404),
        (b"GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /healthz\r\n\r\n", 400),
        (b"GET /heal\x00thz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ],
)
async def test_one_host_and_one_form_of_target(listener: Listener, request_: bytes, status: int) -> None:
    [(code, text)] = await answers(listener, request_)
    assert code == status
    assert b"evil" not in text.lower()
    assert b"cookie" not in text.lower()


@pytest.mark.parametrize(
    "path",
    [
        "/page/../guard.py",
        "/page/%2e%2e/guard.py",
        "/page/..%2fguard.py",
        "/page/%2e%2e%2fguard.py",
        "/page/%252e%252e%252fguard.py",
        "/page/..%5cguard.py",
        "/page/..\\guard.py",
        "/page/....//guard.py",
        "/page//etc/passwd",
        "/page/%2fetc%2fpasswd",
        "/page/app.js%00.css",
        "/page/app.js/",
        "/page/APP.JS",
        "/page/vendor",
        "/page/vendor/",
        "/page/vendor/README.md",
        "/page/index.html",
        "/page/",
        "/page",
        "//page/app.js",
        "/.git/config",
        "/page/.%00./guard.py",
        "/rules/..%2f..%2fetc%2fpasswd",
        "/runbooks/..%2f..%2fetc%2fpasswd",
    ],
)
async def test_no_path_climbs_and_no_folder_is_listed(listener: Listener, path: str) -> None:
    [(status, text)] = await answers(listener, head("GET", path, "Connection: close"))
    assert status == 404
    assert b"application/problem+json" in text
    assert b"import" not in text
    assert b"root:" not in text


SPLITTING = [
    "%0d%0aSet-Cookie:%20a=b",
    "%0aSet-Cookie:a",
    "%E5%98%8A%E5%98%8DSet-Cookie:a",
    "//evil.example",
    "%5c%5cevil.example",
]
SPLITTING += ["https:%2f%2fevil.example", "javascript:alert(1)", "%00", "%ff%fe"]


@pytest.mark.parametrize("written", SPLITTING)
async def test_a_redirect_leads_to_this_service_alone_and_splits_nothing(listener: Listener, written: str) -> None:
    for path in (f"/advise/{written}", f"/{written}", f"/?next={written}", f"/docs?url={written}"):
        for status, text in await answers(listener, head("GET", path, "Accept: text/html", "Connection: close")):
            fields = text.partition(b"\r\n\r\n")[0].lower()
            assert b"\nset-cookie" not in fields
            if status in {301, 302, 303, 307, 308}:
                [location] = [field for field in fields.split(b"\r\n") if field.startswith(b"location: ")]
                assert location.startswith(b"location: ../#")
            else:
                assert status in {200, 404}


@pytest.mark.parametrize(
    "field",
    [
        "X-HTTP-Method-Override: POST",
        "X-HTTP-Method: POST",
        "X-Method-Override: POST",
        "X-Original-URL: /-/reload",
        "X-Rewrite-URL: /-/reload",
        "X-Forwarded-Prefix: /-/reload",
    ],
)
async def test_no_header_stands_in_for_the_method_or_the_path(listener: Listener, field: str) -> None:
    before = await loaded(listener)
    assert await statuses(listener, head("GET", "/-/reload", field)) == [405]
    assert await statuses(listener, head("GET", "/healthz", field)) == [200]
    assert await loaded(listener) == before


async def test_no_header_about_the_client_or_the_host_is_believed(listener: Listener) -> None:
    forwarded = ("X-Forwarded-Host: localhost", "Forwarded: host=localhost", "X-Forwarded-For: 127.0.0.1")
    assert await statuses(listener, head("GET", "/snapshot", *forwarded, host="evil.example")) == [421]
    hosts = (
        "X-Forwarded-Host: evil.example",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Port: 1",
        "Forwarded: host=evil.example",
    )
    for path in ("/", "/rules", "/docs", "/advise"):
        [(status, text)] = await answers(listener, head("GET", path, "Accept: text/html", "Connection: close", *hosts))
        assert status == 200
        assert b"evil" not in text


async def test_a_websocket_is_not_opened(listener: Listener) -> None:
    upgrade = (
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    )
    assert 101 not in await statuses(listener, head("GET", "/healthz", *upgrade))
    assert await statuses(listener, head("GET", "/state", *upgrade, "Origin: http://evil.example")) == [403]
    assert 101 not in await statuses(
        listener,
        head("GET", "/healthz", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"),
    )
