"""The books: what is new is kept first, and told then; meanwhile the sidecar goes on."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from advisor.advice.bookkeeping import Bookkeeping
from advisor.advice.service import Service
from advisor.ledger import journal as journals
from advisor.ledger.entry import Entry, Result
from advisor.ledger.journal import Journal
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from advisor.rules.rulebook import Rulebook
from exporter.snapshot import Snapshot
from tests.advisor.building import ORDERS, RECORDING, RULES_FOLDER, capture, snapshot, variables
from tests.waiting import DEADLINE, until

ADDRESS = "db:3306"
BOOK = Rulebook(RULES_FOLDER)


def looked(seconds: float, pct: str = "37") -> Snapshot:
    return snapshot(seconds, variables=variables(innodb_old_blocks_pct=pct))


HISTORY = [looked(10.0 * number) for number in range(6)]
CHANGED = [*HISTORY, looked(60.0, "64")]


class Slow(Journal):
    """A journal on a disk that takes as long as the test wants."""

    def __init__(self, folder: Path) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        super().__init__(folder, ADDRESS)
        self.began.clear()
        self.go_on.clear()

    def keep(self, new: Sequence[Entry], ledger: Ledger) -> None:
        self.began.set()
        assert self.go_on.wait(DEADLINE)
        super().keep(new, ledger)


async def test_an_outcome_is_told_once_it_is_on_the_disk_and_nobody_waits_for_the_disk(tmp_path: Path) -> None:
    journal = Slow(tmp_path)
    books = Bookkeeping(Ledger(), journal)
    observing = asyncio.create_task(books.observe(CHANGED, None, BOOK.rule_set))
    assert await asyncio.to_thread(journal.began.wait, DEADLINE)
    for _ in range(20):  # the loop runs on
        await asyncio.sleep(0)
    assert not observing.done()
    assert not books.ledger.outcomes
    journal.go_on.set()
    await observing
    [told] = books.ledger.outcomes.values()
    assert told.result is Result.NOT_COMPARABLE  # too little was seen before
    kept = journals.read(journals.path_of(tmp_path, ADDRESS)).ledger.outcomes
    assert list(kept.values()) == [told]


async def test_a_restart_goes_on_with_the_open_outcome(tmp_path: Path) -> None:
    first = Bookkeeping(Ledger(), Journal(tmp_path, ADDRESS))
    await first.observe(CHANGED, None, BOOK.rule_set)
    journal = Journal(tmp_path, ADDRESS)
    second = Bookkeeping(journal.ledger, journal)
    assert second.ledger.outcomes == first.ledger.outcomes
    history = [*CHANGED, *(looked(70.0 + 10 * number, "64") for number in range(400))]
    await second.observe(history, None, BOOK.rule_set)
    [closed] = second.ledger.outcomes.values()
    assert closed.result is not Result.OPEN
    assert list(Journal(tmp_path, ADDRESS).ledger.outcomes.values()) == [closed]


async def test_the_same_snapshot_is_observed_once() -> None:
    books = Bookkeeping(Ledger())
    await books.observe(CHANGED, None, BOOK.rule_set)
    before = books.ledger
    await books.observe(list(CHANGED), None, BOOK.rule_set)
    assert books.ledger is before


async def test_a_snapshot_that_is_not_understood_is_logged_and_the_next_one_is_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    books = Bookkeeping(Ledger())
    await books.observe([HISTORY[0], object()], None, BOOK.rule_set)  # type: ignore[list-item]
    assert [each.levelno for each in caplog.records] == [logging.ERROR]
    await books.observe(CHANGED, None, BOOK.rule_set)
    assert len(books.ledger.outcomes) == 1


async def test_the_service_writes_its_books_and_hands_them_to_the_rules(tmp_path: Path) -> None:
    service = Service(
        Replay(capture(RECORDING)), Rulebook(RULES_FOLDER), books=Bookkeeping(Ledger(), Journal(tmp_path, ADDRESS))
    )
    running = asyncio.create_task(service.run())
    try:
        await until(lambda: service.books.ledger.found)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    [found] = [each for each in service.books.ledger.found.values() if each.rule == "scan-exceeds-old-sublist"]
    assert found.subject == {"schema": ORDERS.schema, "table": ORDERS.table}
    assert found.rule_version
    assert found.model_version
    assert found in journals.read(journals.path_of(tmp_path, ADDRESS)).ledger.found.values()
