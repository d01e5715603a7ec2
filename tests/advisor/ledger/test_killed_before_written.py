"""The outcomes of a change whose snapshots were lost with a killed sidecar."""

from __future__ import annotations

from advisor.ledger.ledger import Ledger
from exporter.snapshot import Snapshot
from tests.advisor.building import snapshot, variables


def at(seconds: float, old_blocks_time: int) -> Snapshot:
    return snapshot(seconds, variables=variables(innodb_old_blocks_time=str(old_blocks_time)))


BEFORE = [at(100, 1000), at(101, 1000)]


def test_a_change_that_the_journal_has_is_not_seen_again() -> None:
    ledger, _ = Ledger().observe([*BEFORE, at(102, 0)], None)
    [outcome] = ledger.outcomes.values()
    after, entries = ledger.observe([*BEFORE, at(105, 0)], None)  # the snapshot at 102 was not yet written
    assert entries == ()
    assert list(after.outcomes.values()) == [outcome]


def test_another_change_meanwhile_is_seen() -> None:
    ledger, _ = Ledger().observe([*BEFORE, at(102, 0)], None)
    after, _ = ledger.observe([*BEFORE, at(105, 500)], None)
    assert [outcome.changes[0].after for outcome in after.outcomes.values()] == [0, 500]
