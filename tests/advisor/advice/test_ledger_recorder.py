"""The recorder of the ledger: what is new is kept first, and told then; meanwhile the sidecar goes on."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path

import pytest

from advisor.advice.ledger_recorder import LedgerRecorder
from advisor.advice.service import Service
from advisor.files.stored import stored_items
from advisor.ledger.entry import ENTRY, Result
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from advisor.rules.rulebook import Rulebook
from exporter.snapshot import Snapshot
from exporter.state_file import StateFile, path_of
from tests.advisor.building import ORDERS, RECORDING, RULES_FOLDER, capture, snapshot, variables
from tests.waiting import DEADLINE, until

ADDRESS = "db:3306"


def looked(seconds: float, pct: str = "37") -> Snapshot:
    return snapshot(seconds, variables=variables(innodb_old_blocks_pct=pct))


HISTORY = [looked(10.0 * number) for number in range(6)]
CHANGED = [*HISTORY, looked(60.0, "64")]


def stored(folder: Path) -> Ledger:
    entries, damage = stored_items(path_of(folder, ADDRESS), "entries", ENTRY)
    assert damage is None
    return Ledger.of(entries)


async def test_an_outcome_is_shown_once_it_is_on_the_disk_and_nobody_waits_for_the_disk(tmp_path: Path) -> None:
    began, go_on = threading.Event(), threading.Event()

    def hang(_: object) -> None:
        began.set()
        assert go_on.wait(DEADLINE)

    with StateFile(tmp_path, ADDRESS, patience=DEADLINE) as state:
        recorder = LedgerRecorder(state=state)
        state.submit(hang)
        observing = asyncio.create_task(recorder.observe(CHANGED, None))
        assert await asyncio.to_thread(began.wait, DEADLINE)
        for _ in range(20):  # the loop runs on
            await asyncio.sleep(0)
        assert not observing.done()
        assert not recorder.ledger.outcomes
        go_on.set()
        await observing
        [outcome] = recorder.ledger.outcomes.values()
        assert outcome.result is Result.NOT_COMPARABLE
        assert outcome.why == "too little was seen before the change"
        assert list(stored(tmp_path).outcomes.values()) == [outcome]


async def test_a_restart_goes_on_with_the_open_outcome(tmp_path: Path) -> None:
    with StateFile(tmp_path, ADDRESS) as state:
        first = LedgerRecorder(state=state)
        await first.observe(CHANGED, None)
    with StateFile(tmp_path, ADDRESS) as state:
        second = LedgerRecorder(state=state)
        assert second.ledger.outcomes == first.ledger.outcomes
        history = [*CHANGED, *(looked(70.0 + 10 * number, "64") for number in range(400))]
        await second.observe(history, None)
    [closed] = second.ledger.outcomes.values()
    assert closed.result is not Result.OPEN
    assert list(stored(tmp_path).outcomes.values()) == [closed]


async def test_the_same_snapshot_is_observed_once() -> None:
    recorder = LedgerRecorder()
    await recorder.observe(CHANGED, None)
    before = recorder.ledger
    await recorder.observe(list(CHANGED), None)
    assert recorder.ledger is before


async def test_a_snapshot_that_is_not_understood_is_logged_and_the_next_one_is_taken(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorder = LedgerRecorder()
    await recorder.observe([HISTORY[0], object()], None)  # type: ignore[list-item]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    await recorder.observe(CHANGED, None)
    assert len(recorder.ledger.outcomes) == 1


async def test_the_service_stores_its_ledger_and_hands_it_to_the_rules(tmp_path: Path) -> None:
    with StateFile(tmp_path, ADDRESS) as state:
        service = Service(Replay(capture(RECORDING)), Rulebook(RULES_FOLDER), recorder=LedgerRecorder(state=state))
        running = asyncio.create_task(service.run())
        try:
            await until(lambda: service.ledger.findings)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
    [finding] = [finding for finding in service.ledger.findings.values() if finding.rule == "scan-exceeds-old-sublist"]
    assert finding.subject == {"schema": ORDERS.schema, "table": ORDERS.table}
    assert finding.rule_version
    assert finding.model_version
    assert finding in stored(tmp_path).findings.values()
