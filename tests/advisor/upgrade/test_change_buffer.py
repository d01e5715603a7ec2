"""The change buffer's reads and writes after an upgrade, against what other servers did under the same load."""

from __future__ import annotations

import pytest

from advisor.contract.upgrade import Cause, UpgradeEffect
from advisor.facts import Facts, facts
from advisor.upgrade.change_buffer import change_buffer
from tests.advisor.building import captured
from tests.advisor.upgrade.upgrades import not_foretold, said, upgrade_of

BUFFERING, MAX_SIZE = "innodb_change_buffering", "innodb_change_buffer_max_size"
READS, WRITES = "pages read per second for changes of secondary indexes", "pages written per second"


def rows(known: Facts) -> float:
    """Rows inserted a second."""
    assert known.server.rows_inserted is not None
    return known.server.rows_inserted / known.window.seconds


def number(value: float | None) -> float:
    assert value is not None
    return value


def of_quantity(recording: str, to: str, quantity: str) -> UpgradeEffect:
    [effect] = [
        effect
        for effect in change_buffer(upgrade_of(recording, to))
        if isinstance(effect, UpgradeEffect) and effect.quantity == quantity
    ]
    return effect


@pytest.mark.parametrize("server", ["mysql-8.0", "mysql-5.6"])
def test_as_many_pages_are_read_and_written_a_row_as_without_buffering(server: str) -> None:
    buffered, unbuffered = (facts(captured(f"{server}/change-buffer-{name}")) for name in ("merges", "off"))
    reads, writes = (of_quantity(f"{server}/change-buffer-merges", "8.4", quantity) for quantity in (READS, WRITES))
    others = number(buffered.pool.pages_read_per_second) - number(reads.now)
    measured = number(unbuffered.pool.pages_read_per_second) / rows(unbuffered)
    assert (others + number(reads.predicted)) / rows(buffered) == pytest.approx(measured, rel=0.2)
    written = number(unbuffered.io.pages_written_per_second) / rows(unbuffered)
    assert number(writes.low) <= written * rows(buffered) <= number(writes.high)
    assert (reads.better, writes.better) == (False, False)


def test_a_line_keeps_buffering_and_another_the_size_that_shrinks_later() -> None:
    upgrade = upgrade_of("mysql-8.0/change-buffer-merges", "8.4")
    assert [line.line for line in said(change_buffer, upgrade)[BUFFERING].keep] == [f"{BUFFERING} = all"]
    later = upgrade_of("mysql-8.0/change-buffer-merges", "9.4")
    lines = [line.line for line in said(change_buffer, later)[BUFFERING].keep]
    assert lines == [f"{BUFFERING} = all", f"{MAX_SIZE} = 25"]


@pytest.mark.parametrize(
    ("recording", "to"),
    [
        ("mysql-8.0/change-buffer-single-merges", "8.4"),  # a read for each change, buffered or not
        ("mysql-8.0/change-buffer-off", "8.4"),
        ("mysql-8.0/change-buffer-off-resident", "9.7"),
        ("mysql-8.0/idle", "8.4"),
        ("mysql-8.0/tpcc-little-pool", "8.4"),
        ("mysql-9.7/change-buffer-merges", "26.7"),
        ("mariadb-11.8/idle", "12.3"),
    ],
)
def test_nothing_is_said_where_nothing_changes(recording: str, to: str) -> None:
    assert list(change_buffer(upgrade_of(recording, to))) == []


def test_buffering_that_begins_saves_reads_as_9_7_showed() -> None:
    upgrade = upgrade_of(
        "mysql-9.7/change-buffer-off",
        "9.7",
        version="8.4.6",
        settings={MAX_SIZE: 25},
    )
    effect, buffered = said(change_buffer, upgrade)[BUFFERING], facts(captured("mysql-9.7/change-buffer-merges"))
    measured = number(buffered.pool.pages_read_per_second) / rows(buffered) * rows(upgrade.facts)
    assert (effect.from_, effect.to, effect.better) == ("none", "all", True)
    assert number(effect.low) <= measured <= number(effect.high)
    assert effect.keep == ()


def test_who_reads_the_pages_must_be_known_where_buffering_begins() -> None:
    altered = {"version": "8.4.6", "settings": {MAX_SIZE: 25}}
    [mixed] = not_foretold(change_buffer, upgrade_of("mysql-9.7/change-buffer-off-mixed", "9.7", **altered))
    assert "may also be the reads of queries" in mixed.reason
    blind = altered | {"settings": {MAX_SIZE: 25, BUFFERING: "none"}}
    [unknown] = not_foretold(change_buffer, upgrade_of("mysql-9.7/unprivileged", "9.7", **blind))
    assert unknown.cure is not None


def test_a_smaller_buffer_that_is_merged_faster_reads_more_as_9_7_showed() -> None:
    upgrade = upgrade_of("mysql-8.0/change-buffer-merges", "9.7")
    effect, after = said(change_buffer, upgrade)[MAX_SIZE], facts(captured("mysql-9.7/change-buffer-merges"))
    merges = number(after.ibuf.merges_per_second) / rows(after)
    assert number(effect.low) <= merges * rows(upgrade.facts) <= number(effect.high)
    assert (effect.from_, effect.to, effect.better, effect.cause) == (25, 5, False, Cause.DEFAULT)
    assert [line.line for line in effect.keep] == [f"{MAX_SIZE} = 25"]


def test_a_longer_buffer_of_slow_writers_cannot_read_more_than_a_page_a_change() -> None:
    upgrade = upgrade_of("mysql-8.0/change-buffer-growing", "9.7")
    effect = said(change_buffer, upgrade)["innodb_io_capacity"]
    assert number(effect.predicted) <= number(effect.high) <= number(upgrade.facts.ibuf.buffered_per_second)


def test_mariadb_gets_no_line_for_a_buffer_that_corrupts() -> None:
    old = upgrade_of("mariadb-10.5/change-buffer-merges", "10.11", version="10.5.14-MariaDB")
    effect = said(change_buffer, old)[BUFFERING]
    assert (effect.from_, effect.to, effect.cause, effect.keep) == ("all", "none", Cause.DEFAULT, ())


def test_mariadb_11_has_no_change_buffer_and_empties_it_at_its_first_start() -> None:
    upgrade = upgrade_of("mariadb-10.11/change-buffer-merges", "11.8")
    effects = said(change_buffer, upgrade)
    removal, start = effects[BUFFERING], effects["change_buffer_emptied_by_upgrade"]
    assert (removal.cause, removal.to, removal.keep) == (Cause.REMOVAL, None, ())
    assert number(removal.predicted) > 5.0 * number(removal.now)
    assert number(start.predicted) == upgrade.facts.ibuf.drain_reads
    assert [statement.sql for statement in start.before] == ["SET GLOBAL innodb_fast_shutdown = 0"]


def test_what_is_buffered_must_be_known() -> None:
    [unknown] = not_foretold(change_buffer, upgrade_of("mysql-8.0/unprivileged", "8.4"))
    assert "PROCESS" in str(unknown.cure)
