"""The server is asked for statements now and then, and what it cannot answer is said."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.advice.statements import FRESH_SECONDS, Statements
from advisor.observe.source import Replay
from exporter.collectors.base import Collector
from exporter.collectors.instrumentation import INSTRUMENTATION
from exporter.connection.errors import ConnectionLost, ServerError
from exporter.rows import Rows
from exporter.sampling.assembly import Answer
from exporter.snapshot import Snapshot, Table
from tests.advisor.building import ORDERS, RECORDING, capture

COLUMNS = (
    *("schema_name", "digest", "digest_text", "executions", "picoseconds", "rows_examined"),
    *("without_index", "first_seen", "last_seen", "now", "lower_case"),
)


class Asked(Replay):
    """A server that answers with one statement, which runs once a second."""

    answer: Answer | ServerError | None = None
    instruments: dict[str, str | None] = {}  # noqa: RUF012 - replaced, not changed

    def __init__(self) -> None:
        super().__init__(capture(RECORDING))
        self.asked = 0
        self.now = 1000.0

    @property
    def latest(self) -> Snapshot | None:
        return self.history[-1].with_section(INSTRUMENTATION, self.instruments)

    async def ask(self, collector: Collector[Any]) -> Answer:
        self.asked += 1
        if isinstance(self.answer, ServerError):
            raise self.answer
        runs = round(self.now)
        row = ("shop", "a1", "SELECT * FROM `orders`", runs, runs * 10**12, 0, 0, 0.0, self.now, self.now, 0)
        return self.answer or Answer(collector.name, self.now, 0.1, (Rows(COLUMNS, (row,)),))


@pytest.fixture
def source() -> Asked:
    return Asked()


async def test_an_answer_is_fresh_for_some_seconds(source: Asked) -> None:
    asked = Statements(source, lambda: source.now)
    first = await asked.behind(ORDERS)
    source.now += FRESH_SECONDS - 1
    assert await asked.behind(ORDERS) is first
    assert source.asked == 1
    source.now += 1
    [later] = (await asked.behind(ORDERS)).statements
    assert source.asked == 2
    assert (later.since, later.per_hour) == (1000.0, 3600)
    await asked.behind(Table("shop", "others"))
    assert source.asked == 3


async def test_rates_look_back_an_hour(source: Asked) -> None:
    asked = Statements(source, lambda: source.now)
    for _ in range(130):
        [answer] = (await asked.behind(ORDERS)).statements
        assert answer.since >= source.now - 3600.0 or source.now == 1000.0
        source.now += 60.0
    assert answer.since == source.now - 60.0 - 3600.0


async def test_a_failure_is_told_with_its_cure(source: Asked) -> None:
    source.answer = Answer("x", 0.0, failure="privilege", reason="denied", cure="GRANT it")
    assert (await Statements(source).behind(ORDERS)).lacks == "denied: GRANT it"
    source.answer = Answer("x", 0.0, failure="deadline", reason="no answer within 6 s")
    assert (await Statements(source).behind(ORDERS)).lacks == "no answer within 6 s"
    source.answer = ConnectionLost("gone")
    assert (await Statements(source).behind(ORDERS)).lacks == "gone"
    source.answer = Answer("x", 0.0, results=(Rows(("nothing",), (("at all",),)),))
    assert (await Statements(source).behind(ORDERS)).lacks == "cannot parse the answer: KeyError: 'schema_name'"


async def test_a_consumer_that_is_off_is_told_with_its_cure(source: Asked) -> None:
    source.instruments = {"statements_digest": "UPDATE it"}
    answer = await Statements(source).behind(ORDERS)
    assert answer.lacks == "statements_digest is off in performance_schema: UPDATE it"
    assert source.asked == 0


async def test_a_name_that_digests_cut_is_not_asked_for(source: Asked) -> None:
    answer = await Statements(source).behind(Table("shop", "é" * 33))
    assert answer.lacks == "digests cut names that are longer than 64 bytes"
    assert source.asked == 0


async def test_a_recording_has_none() -> None:
    answer = await Statements(Replay(capture(RECORDING))).behind(ORDERS)
    assert answer.lacks == "a recording has no statements of its tables"
