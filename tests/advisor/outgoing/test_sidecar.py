"""The client of a sidecar: its JSON, its refusals, and answers of other services."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

from advisor.outgoing.settings import client_settings
from advisor.outgoing.sidecar import SidecarError, ask
from lab.processes.ports import HOST
from tests.advisor.building import capture
from tests.advisor.listening import Listening
from tests.waiting import wait_for

SETTINGS = client_settings(None, encrypted=False)


@pytest.fixture(scope="module")
def sidecar() -> Iterator[Listening]:
    with Listening("--recording", capture("mysql-9.7/repeated-scan")) as started:
        wait_for(started.judged)
        yield started


def refusal(url: str, path: str, content: str | None = None) -> SidecarError:
    with pytest.raises(SidecarError) as caught:
        asyncio.run(ask(url, path, SETTINGS, content))
    return caught.value


def answered(answer: bytes) -> SidecarError:
    """The client's refusal of a service that answers so, whatever it is asked."""

    async def asked() -> SidecarError:
        async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(answering, HOST, 0)
        async with server:
            with pytest.raises(SidecarError) as caught:
                await ask(f"http://{HOST}:{server.sockets[0].getsockname()[1]}", "/advise", SETTINGS)
        return caught.value

    return asyncio.run(asked())


def test_an_answer_is_the_sidecars_json(sidecar: Listening) -> None:
    advice = json.loads(asyncio.run(ask(sidecar.url, "/advise", SETTINGS)))
    assert [finding["rule"] for finding in advice["recommendations"]] == ["scan-exceeds-old-sublist"]
    answer = json.loads(asyncio.run(ask(sidecar.url, "/history", SETTINGS)))
    assert answer["outcomes"] == []


def test_a_refusal_is_the_sidecars_own_sentence(sidecar: Listening) -> None:
    error = refusal(sidecar.url, "/advise/9f2c")
    assert (str(error), error.status) == (
        "nothing that is found now has the fingerprint 9f2c; /advise has all there is",
        404,
    )
    assert refusal(sidecar.url, "/advise", "a body").status == 405


def test_where_nobody_answers_the_reason_is_the_systems() -> None:
    assert str(refusal(f"http://{HOST}:1", "/advise")) == "Connection refused"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"HTTP/1.1 500 Oops\r\ncontent-length: 7\r\n\r\n<html>\n", "HTTP 500 Oops: <html>"),
        (b"HTTP/1.1 500 Oops\r\ncontent-length: 2\r\n\r\n[]", "HTTP 500 Oops: []"),
        (b"HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n", "HTTP 302 Found: redirects are not followed"),
        (b"SSH-2.0-none\r\n", "Server disconnected without sending a response."),
    ],
)
def test_other_services_are_told_by_what_they_answer(answer: bytes, text: str) -> None:
    assert text in str(answered(answer))
