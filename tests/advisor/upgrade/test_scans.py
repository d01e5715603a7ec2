"""Counts and scans after an upgrade: foretold from recordings, beside what newer servers were recorded to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from ruamel.yaml import YAML

from advisor.contract.upgrade import Cause, NotForetold, UpgradeEffect
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.pool.errors import Unanswerable
from advisor.pool.tables import last_pass, tables_in_model
from advisor.upgrade.scans import ReadsAfterUpgrade, scans
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.variables import VARIABLES
from exporter.server import parse_version
from tests.advisor.building import REPOSITORY, captured
from tests.advisor.facts.capture_facts import shown
from tests.advisor.upgrade.upgrades import upgrade_of

CAPTURES = REPOSITORY / "tests" / "captures"
SEED_1, CLUSTERED_97 = "mysql-5.6/seed-001-counts", "mysql-9.7/seed-001-counts-clustered"
IN_A_ROW = 4
WITHIN = 0.2
"""Share of the measured pages: the bound of the issue, where the interval is not wider."""
FEW = 64
"""Pages of a pass that are the catalogue's, or the unused rest of an extent."""


def effects(window: Window, to: str) -> dict[str, UpgradeEffect]:
    """By table; those of lookups by the empty name."""
    said = list(scans(upgrade_of(window, to)))
    assert [unknown for unknown in said if isinstance(unknown, NotForetold)] == []
    return {effect.subject.get("table", ""): effect for effect in said if isinstance(effect, UpgradeEffect)}


def without(window: Window, section: str) -> Window:
    """The window of a server that does not tell something."""
    return Window(tuple(replace(s, sections={**s.sections, section: None}) for s in window.snapshots))


def as_mysql(window: Window, version: str) -> Window:
    """The window as a server of another version shows it."""
    server = replace(window.latest.server, version=parse_version(version), version_text=version)
    return Window(tuple(replace(snapshot, server=server) for snapshot in window.snapshots))


def unforced(window: Window) -> Window:
    """The window with the same counts, of which none names an index."""
    counts = [
        {table: replace(count, forced_primary=0) for table, count in (snapshot[COUNT_STATEMENTS] or {}).items()}
        for snapshot in window.snapshots
    ]
    return Window(
        tuple(
            replace(snapshot, sections={**snapshot.sections, "count_statements": count})
            for snapshot, count in zip(window.snapshots, counts, strict=True)
        )
    )


def measured_per_count() -> dict[str, float]:
    """Pages that a count of each table of seed 001 read by the clustered index, once rounds repeated themselves."""
    last = shown(CLUSTERED_97)["pages_read"][-1]
    tables = ("test_short", "test_long", "test_long_uk")
    return {
        table: sum(last[IN_A_ROW * place : IN_A_ROW * (place + 1)]) / IN_A_ROW for place, table in enumerate(tables)
    }


def test_seed_1s_counts_read_the_table_from_disk_after_an_upgrade_to_8_0_28() -> None:
    by_table, measured = effects(captured(SEED_1), "8.0.28"), measured_per_count()
    assert sorted(by_table) == ["test_long", "test_long_uk"]
    last = by_table["test_long_uk"]
    assert (last.cause, last.name) == (Cause.BEHAVIOUR, "count_star_takes_clustered_index")
    assert (last.from_, last.to, last.now, last.better) == ("val1", "PRIMARY", 0, False)
    for table, effect in by_table.items():
        assert effect.predicted == pytest.approx(measured[table], rel=WITHIN, abs=FEW)
        assert float(effect.low or 0) <= measured[table] <= float(effect.high or 0)
    assert measured["test_short"] <= FEW
    evidence = {part.name: part.value for part in last.evidence}
    assert evidence["order of the counts"] == "shop.test_short, shop.test_long, shop.test_long_uk"
    assert "each time" in last.summary
    assert "on average" in by_table["test_long"].summary
    assert "scans of shop.test_long_uk evict it" in by_table["test_long"].summary


def test_seed_1s_cures_are_a_patch_an_old_sublist_and_a_larger_pool() -> None:
    last = effects(captured(SEED_1), "8.0.28")["test_long_uk"]
    assert "8.0.37 and later count by val1 again" in last.summary
    assert [line.line for line in last.keep] == ["innodb_old_blocks_pct = 95"]
    [pool] = [part.value for part in last.evidence if part.unit == "bytes"]
    assert float(pool) == 512 * 2**20  # twice the pool; either large table is 0.87 of it


@pytest.mark.parametrize("to", ["8.0.37", "8.4", "9.7"])
def test_seed_1s_counts_read_nothing_more_where_a_secondary_index_is_counted_by(to: str) -> None:
    assert effects(captured(SEED_1), to) == {}


def test_an_upgrade_from_8_0_28_counts_by_the_small_index_again() -> None:
    window = unforced(as_mysql(captured(CLUSTERED_97), "8.0.28"))
    effect = effects(window, "8.4")["test_long_uk"]
    assert (effect.from_, effect.to, effect.better) == ("PRIMARY", "val1", True)
    assert effect.now == pytest.approx(measured_per_count()["test_long_uk"], rel=0.02)
    assert float(effect.predicted or 0) <= FEW


def test_counts_by_the_clustered_index_take_the_pool_from_lookups() -> None:
    window, measured = captured("mysql-5.6/counts-beside-lookups"), shown("mysql-9.7/counts-beside-lookups-clustered")
    by_table = effects(window, "8.0.28")
    counts, lookups = (sum(read) / len(read) for read in measured["pages_read"].values())
    assert by_table["orders"].predicted == pytest.approx(counts, rel=WITHIN)
    rounds_per_second = (len(window.snapshots) - 1) / window.seconds
    others = by_table[""]
    assert float(others.now or 0) < 1.0
    assert float(others.predicted or 0) / rounds_per_second == pytest.approx(lookups, rel=WITHIN)


def test_a_pool_that_the_new_version_rounds_up_reads_less() -> None:
    window = captured("mysql-5.6/hot-set-exceeds-pool")
    read = window.latest[VARIABLES] or {}
    variables = {**read, "innodb_buffer_pool_size": str(192 * 2**20)}  # a chunk and a half
    larger = Window(
        tuple(
            replace(snapshot, sections={**snapshot.sections, "variables": variables}) for snapshot in window.snapshots
        )
    )
    effect = effects(larger, "8.0")[""]
    assert (effect.cause, effect.name, effect.better) == (Cause.DEFAULT, "innodb_buffer_pool_size", True)
    assert (effect.from_, effect.to) == (192 * 2**20, 256 * 2**20)
    assert float(effect.low or 0) <= float(effect.predicted or 0) <= float(effect.high or 0) <= float(effect.now or 0)


def test_a_count_that_names_the_clustered_index_goes_on_reading_it() -> None:
    assert effects(as_mysql(captured("mysql-9.7/counted-beside-index"), "8.0.28"), "8.4") == {}


def test_without_performance_schema_the_counts_are_named_as_not_known() -> None:
    blind = without(captured(SEED_1), "count_statements")
    [unknown] = [said for said in scans(upgrade_of(blind, "8.0.28")) if isinstance(said, NotForetold)]
    assert "COUNT(*)" in unknown.what
    assert unknown.cure == "performance_schema = ON"


def test_counted_tables_without_a_size_are_named() -> None:
    said = list(scans(upgrade_of(without(captured(SEED_1), "index_sizes"), "8.0.28")))
    whats = [unknown.what for unknown in said if isinstance(unknown, NotForetold)]
    assert whats == [
        "COUNT(*) of shop.test_long, shop.test_long_uk, shop.test_short",
        "pages that counts, scans and lookups read",
    ]


def test_what_the_model_cannot_answer_is_named() -> None:
    blind = without(captured(SEED_1), "table_files")
    said = list(scans(upgrade_of(blind, "8.0.28")))
    assert [type(unknown) for unknown in said] == [NotForetold]


PAIRS = [
    ("mysql-8.0", "mysql-9.7", "9.7"),
    ("mysql-5.6", "mysql-9.7", "9.7"),
    ("mariadb-10.5", "mariadb-10.11", "10.11"),
    ("mariadb-10.5", "mariadb-11.8", "11.8"),
    ("mariadb-10.11", "mariadb-11.8", "11.8"),
]


def recorded_on_both(before: str, after: str) -> Iterator[str]:
    """The names of the captures of the same load, beside a pool of the same size, on two servers."""

    def loads(server: str) -> dict[str, tuple[str, str]]:
        notes = {note.parent.name: YAML(typ="safe").load(note) for note in CAPTURES.glob(f"{server}/*/note.yaml")}
        return {
            name: (note["workload"], note["options"]["innodb-buffer-pool-size"])
            for name, note in notes.items()
            if "innodb-buffer-pool-size" in note["options"]
        }

    others = loads(after)
    return (name for name, load in loads(before).items() if others.get(name) == load)


def per_pass(name: str) -> dict[str, float]:
    """Pages that the last scan of each table of a recording read."""
    tables, _ = tables_in_model(facts(captured(name)).lists["scans"])
    return {table: last_pass(scan) for table, scan in tables.items()}


def foretold(before: str, after: str, to: str) -> Iterator[tuple[str, float, tuple[float, float, float]]]:
    """Each table that is scanned on both: what a scan read after it, and what was foretold from before alone."""
    try:
        reads = ReadsAfterUpgrade.of(upgrade_of(before, to))
    except Unanswerable:
        return
    for table, measured in per_pass(after).items():
        if table in reads.now.scans:
            yield table, measured, reads.per_pass(table)


@pytest.mark.parametrize(("before", "after", "to"), PAIRS)
def test_scans_read_after_an_upgrade_what_is_foretold(before: str, after: str, to: str) -> None:
    tables = [
        (name, *of_table)
        for name in recorded_on_both(before, after)
        for of_table in foretold(f"{before}/{name}", f"{after}/{name}", to)
    ]
    assert tables
    assert [
        (name, table, measured, expected, low, high)
        for name, table, measured, (expected, low, high) in tables
        if not low <= measured <= high and abs(expected - measured) > WITHIN * measured
    ] == []


def test_a_scan_is_held_where_mariadb_keeps_a_free_list_from_10_6_on() -> None:
    [effect] = effects(captured("mariadb-10.5/repeated-scan"), "10.11").values()
    assert (effect.name, effect.better) == ("free_list_kept", True)
    assert float(effect.now or 0) > 4_000
    assert effect.predicted == 0
    assert per_pass("mariadb-10.11/repeated-scan") == {"shop.orders": 0.0}
