"""A program at the server's address that means harm: what is read of it is bounded, and its words stay words."""

from __future__ import annotations

import asyncio
import re
import tracemalloc
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from exporter.collectors import BY_NAME, COLLECTORS
from exporter.collectors.base import Collector
from exporter.connection.errors import ServerError
from exporter.connection.session import Session
from exporter.connection.target import from_dsn
from exporter.rows import Rows, plain
from exporter.sampling.history import MOST_BYTES, weight
from exporter.sampling.sampler import Sampler
from lab.programs.hostile_answers import ANSWERS, other_names
from lab.programs.hostile_mysql import GREETING, MIB, HostileServer, error, row
from tests.advisor.in_process import InProcess
from tests.exporter.exposition import Samples, exposed
from tests.waiting import wait_for

MOST_MIB = 20
"""Of Python's objects while an answer of the usual bound is read."""
SQL = "SELECT a AS schema_name, b AS table_name, c AS n FROM somewhere"
UNDER_ATTACK = ("pools", "table_scans")
SPOILING = ("rows without end", "a row of gigabytes", "columns without end", "an error of its own")
"""Answers that a whole sidecar gets; the others differ for the parsers alone."""
HONEST = ("", "session", "identity", "status", "cancel")
"""What is answered honestly meanwhile: else no session begins."""
MOST_SERIES = 10_000
"""Of a server that names hundreds of tables and indexes."""
ENDLESS = {name for name in ANSWERS if "without end" in name or "bytes" in name} - {"comments without end"}


def attacked(name: str, *collectors: str) -> HostileServer:
    answer = ANSWERS[name]
    return HostileServer(lambda collector, sql: answer(sql) if collector in (collectors or ("test",)) else None)


async def asked(server: HostileServer) -> Rows | ServerError:
    session = await Session.open(from_dsn(server.dsn), statement_seconds=5)
    try:
        return await session.query("test", SQL, 120.0)
    except ServerError as failure:
        return failure
    finally:
        session.abort()


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_is_rows_or_an_error_and_takes_bounded_memory(name: str) -> None:
    with attacked(name) as server:
        tracemalloc.start()
        try:
            outcome = await asked(server)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < MOST_MIB * MIB
    assert isinstance(outcome, Rows | ServerError)
    if isinstance(outcome, ServerError):
        assert len(str(outcome)) < 700
    if name in ENDLESS:
        assert "the answer " in str(outcome)  # is larger than its bound


async def pieces(*sent: bytes, again: bytes = b"") -> AsyncIterator[bytes]:
    for part in sent:
        yield part
    while again:
        yield again


def packet(payload: bytes, number: int = 0) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number]) + payload


SWITCH = b"\xfemysql_native_password\0" + b"c" * 20 + b"\0"
HANDSHAKES: dict[str, Callable[[], AsyncIterator[bytes]]] = {
    "a version without end": lambda: pieces(b"\xff\xff\xff\0\x0a", again=b"9" * 65_536),
    "a version of 60 KiB": lambda: pieces(packet(GREETING.replace(b"9.7.4", b"9" * 60_000))),
    "packets without end": lambda: pieces(packet(GREETING), *(packet(SWITCH, n % 256) for n in range(2, 2000, 2))),
    "empty packets without end": lambda: pieces(packet(GREETING), again=packet(b"", 2)),
    "nothing of what it begins": lambda: pieces(packet(GREETING)[:20]),
}


@pytest.mark.parametrize("name", HANDSHAKES)
async def test_a_handshake_ends(name: str) -> None:
    with HostileServer() as server:
        server.greeting = HANDSHAKES[name]
        with pytest.raises(ServerError) as refused:
            await Session.open(from_dsn(server.dsn), statement_seconds=5, connect_seconds=0.5)
    assert len(str(refused.value)) < 700


async def test_a_packet_that_comes_byte_by_byte_is_read() -> None:
    async def bytewise() -> AsyncIterator[bytes]:
        for byte in packet(GREETING):
            yield bytes([byte])
            await asyncio.sleep(0)
        yield packet(error(1045, b"not you"), 2)

    with HostileServer() as server:
        server.greeting = bytewise
        with pytest.raises(ServerError, match="refused the login"):  # so the greeting was understood
            await Session.open(from_dsn(server.dsn), statement_seconds=5)


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_source_that_means_harm_spoils_itself_only(name: str) -> None:
    with attacked(name, *UNDER_ATTACK) as server:
        sampler = Sampler(from_dsn(server.dsn), interval=1)
        try:
            snapshot = await sampler.collect()
        finally:
            await sampler.close()
    assert snapshot.sections["status"]["threads_running"] == 1
    assert {*server.answered} == {*UNDER_ATTACK}
    for outcome in snapshot.outcomes.values():
        assert len(outcome.reason) < 700


COLLECTIONS, SMALL = 6, MOST_BYTES // 4


async def test_names_that_are_new_each_time_shorten_the_history() -> None:
    answer = other_names(500)
    with HostileServer(lambda collector, sql: answer(sql) if _has_section(collector) else None) as server:
        sampler = Sampler(from_dsn(server.dsn), interval=0.01, history_bytes=SMALL)
        try:
            for _ in range(COLLECTIONS):
                await sampler.collect()
        finally:
            await sampler.close()
    assert 2 <= len(sampler.history) < COLLECTIONS
    newest = sampler.history[-1]
    assert len(newest.sections) > 5
    assert weight(newest.sections) < SMALL


async def test_names_that_are_new_each_time_have_few_series_and_former_ones_none() -> None:
    answer, always = other_names(100), [replace(collector, every=0.0) for collector in COLLECTORS]
    with HostileServer(lambda collector, sql: answer(sql) if _has_section(collector) else None) as server:
        sampler = Sampler(from_dsn(server.dsn), interval=0.01, collectors=always)
        try:
            former, newest = [exposed(await sampler.collect()) for _ in range(2)]
        finally:
            await sampler.close()
    assert sum(map(len, newest.values())) < MOST_SERIES
    assert _names(former)
    assert _names(newest)
    assert not _names(former) & _names(newest)


def _names(samples: Samples) -> set[str]:
    """Names in the server's answers that became labels."""
    labels = (label for series in samples.values() for labels in series for label in labels)
    return {label for label in labels if re.fullmatch(r"n\d+_\d+_x+", label)}


def test_a_sidecar_answers_scrapes_and_probes_whatever_its_server_sends() -> None:
    with HostileServer() as server, InProcess("--dsn", server.dsn, "--interval", "0.2s") as sidecar:

        def outcomes() -> dict[str, Any]:
            answer = sidecar.get("/snapshot")
            return dict(answer.json()["outcomes"]) if answer.is_success else {}

        wait_for(outcomes)
        for name in SPOILING:
            said = ANSWERS[name]
            server.answered.clear()
            server.attack = lambda collector, sql, said=said: None if collector in HONEST else said(sql)  # type: ignore[misc]
            wait_for(lambda: UNDER_ATTACK[0] in server.answered)
            assert sidecar.get("/metrics").status_code == 200
            assert sidecar.get("/healthz").status_code == 200
            assert sidecar.get("/readyz").status_code in (200, 503)
            assert all(len(outcome["reason"] or "") < 700 for outcome in outcomes().values())
        server.attack = lambda _collector, _sql: None
        wait_for(lambda: sidecar.get("/readyz").status_code == 200)


def _has_section(name: str) -> bool:
    collector: Collector[object] | None = BY_NAME.get(name)
    return collector is not None and name not in ("status", "variables")


@pytest.mark.parametrize("exponent", ["1e999999999", "-1e999999999", "1E+400", "1e-999999999"])
def test_a_number_of_a_billion_digits_is_not_written_out(exponent: str) -> None:
    assert isinstance(plain(Decimal(exponent)), float)


def test_rows_are_as_the_protocol_has_them() -> None:
    assert row([None, b"ab", b"x" * 300]) == b"\xfb\x02ab\xfc\x2c\x01" + b"x" * 300
