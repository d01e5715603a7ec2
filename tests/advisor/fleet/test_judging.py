"""Rules judge windows of series: nothing that is not known makes a finding or a silence, and models have a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest

from advisor.contract.fleet import Source
from advisor.fleet.judging import Budget, JudgedServer, judge
from advisor.fleet.mysqld_exporter import RUN_SIDECAR
from advisor.observe.window import SLICES, Window, slices
from advisor.rules import check
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.snapshot import Index, ReadOutcome
from tests.advisor.building import ROWS, RULES_FOLDER, captured, scanned
from tests.advisor.fleet import sources

SCAN = "scan-exceeds-old-sublist"
FLAG = "start mysqld_exporter with --collect.info_schema.innodb_metrics"


@cache
def rules() -> Sequence[check.Rule]:
    return check.load(RULES_FOLDER)


def grid(*passes: float) -> Window:
    """A table that is read from disk at each pass, at points of a grid of an hour."""
    size = IndexSize(11_400, 11_350, ROWS)
    known = {
        "index_sizes": IndexSizes({Index("shop", "orders", "PRIMARY"): size}, 0),
        "table_io": {},
        "table_statements": {},
    }
    return Window(tuple(scanned(450.0 * k, n, round(n * 11_400), **known) for k, n in enumerate(passes)))


def answered(window: Window, source: Source = Source.MYSQLD_EXPORTER) -> JudgedServer:
    return judge(rules(), window, source, before=judge(rules(), window, source), seconds=60.0)


def test_an_hour_of_nine_points_is_judged_as_a_whole() -> None:
    window = grid(*range(9))
    assert len(list(slices(window))) == SLICES
    first = judge(rules(), window, Source.SIDECAR)
    assert (first.findings, SCAN in first.waiting, SCAN in first.undecided) == ((), True, True)
    [finding] = answered(window, Source.SIDECAR).findings
    assert (finding.rule, finding.watched_seconds, [change.to for change in finding.changes]) == (SCAN, 3600.0, [74])


def test_a_finding_that_rests_on_estimated_rows_has_half_of_the_confidence() -> None:
    """Rows of mysqld_exporter's series are estimates."""
    [sure], [less] = answered(grid(*range(9)), Source.SIDECAR).findings, answered(grid(*range(9))).findings
    assert (less.rule, less.changes) == (sure.rule, sure.changes)
    assert less.confidence == pytest.approx(sure.confidence / 2, abs=0.001)
    judged = answered(grid(*range(9)))
    assert judged.notes == {less.fingerprint: ("the rows of its table are an estimate up to a day old",)}
    assert answered(grid(*range(9)), Source.SIDECAR).notes == {}


def test_no_finding_is_made_that_half_as_many_rows_more_would_take_back() -> None:
    """Two passes, of which it takes one and a half: 1.33 by rows that are half as many more."""
    few = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0)
    assert [finding.rule for finding in answered(grid(*few), Source.SIDECAR).findings] == [SCAN]
    judged = answered(grid(*few))
    assert judged.findings == ()
    [lack] = [lack for lack in judged.blind if lack.rule == SCAN]
    assert (lack.lacks, lack.cure, SCAN in judged.undecided) == ("rows of the table", RUN_SIDECAR, True)


def test_each_lack_of_a_rule_is_named_once_with_its_cure() -> None:
    window = sources.mysqld_exporter(captured("mysql-9.7/repeated-scan"), {*sources.FLAGS} - {"innodb_metrics"})
    shut = ReadOutcome(0.0, 0.0, "disabled", "mysqld_exporter has no series of it", FLAG)
    latest = replace(window.latest, outcomes={**window.latest.outcomes, "innodb_metrics": shut})
    judged = judge(rules(), Window((*window.snapshots[:-1], latest)), Source.MYSQLD_EXPORTER)
    lacks = {(lack.rule, lack.lacks): lack.cure for lack in judged.blind}
    assert len(lacks) == len(judged.blind)
    assert lacks["change-buffering-without-benefit", "innodb_metrics"] == FLAG
    assert {rule for rule, _ in lacks} == {*judged.undecided} - {*judged.waiting}
    assert not {"blind-spot", "change-did-harm"} & {*judged.undecided}
    merges = sources.mysqld_exporter(captured("mysql-9.7/change-buffer-single-merges"))
    [lack] = [
        lack
        for lack in judge(rules(), merges, Source.MYSQLD_EXPORTER).blind
        if lack.rule == "change-buffering-without-benefit"
    ]
    assert (lack.lacks, lack.cure) == ("setting.innodb_change_buffering", RUN_SIDECAR)


def without_tables(window: Window, *off: str) -> Window:
    """What a window is before its tables are asked for, where these collectors are off."""
    of_tables = ("index_sizes", "table_scans", "table_files", "table_io", "table_statements", "file_sizes", *off)
    disabled = {name: ReadOutcome(0.0, 0.0, "disabled", "it is off", "switch it on") for name in off}
    return Window(
        tuple(
            replace(
                snapshot,
                sections={of: section for of, section in snapshot.sections.items() if of not in of_tables},
                outcomes={**snapshot.outcomes, **disabled},
            )
            for snapshot in window.snapshots
        )
    )


def test_tables_are_wanted_until_they_are_known() -> None:
    window = sources.mysqld_exporter(captured("mysql-9.7/hot-set-exceeds-pool"))
    assert judge(rules(), without_tables(window), Source.MYSQLD_EXPORTER).wants_tables
    assert not judge(rules(), window, Source.MYSQLD_EXPORTER).wants_tables


def test_no_tables_are_wanted_of_rules_that_lack_a_collector_and_this_alone_is_said() -> None:
    window = sources.mysqld_exporter(captured("mysql-9.7/hot-set-exceeds-pool"))
    judged = judge(rules(), without_tables(window, "count_statements", "table_statements"), Source.MYSQLD_EXPORTER)
    assert not judged.wants_tables
    lacks = {(lack.rule, lack.lacks): lack.cure for lack in judged.blind}
    assert lacks["buffer-pool-too-small", "count_statements"] == "switch it on"
    assert lacks["statistics-outdated", "table_statements"] == "switch it on"
    assert not {"index_sizes", "table_scans", "table_files"} & {lack for _, lack in lacks}


def test_what_is_settled_without_tables_is_as_with_them() -> None:
    window = sources.mysqld_exporter(captured("mysql-9.7/hot-set-exceeds-pool"))
    before, whole = (
        judge(rules(), without_tables(window), Source.MYSQLD_EXPORTER),
        judge(rules(), window, Source.MYSQLD_EXPORTER),
    )
    after = judge(rules(), window, Source.MYSQLD_EXPORTER, before=before)
    assert {*after.undecided} == {*whole.undecided}
    assert [finding.fingerprint for finding in after.findings] == [finding.fingerprint for finding in whole.findings]
    assert after.waiting == whole.waiting
    assert {*before.undecided} > {*whole.undecided}


def test_the_models_serve_who_reads_the_most_and_name_who_is_left() -> None:
    busy, quiet = grid(*range(9)), grid(*(number / 2 for number in range(9)))
    ticks = iter((0.0, 0.0, 5.0))
    budget = Budget[str](5.0, clock=lambda: next(ticks))
    budget.keep("quiet", quiet, "")
    budget.keep("busy", busy, "")
    assert [server for server, *_ in budget.spend()] == ["busy"]
    assert budget.left == {"quiet"}


def test_few_servers_wait_for_a_model_however_many_would() -> None:
    window, budget = grid(*range(9)), Budget[str](0.0)
    for number in range(100):
        budget.keep(f"db-{number:02}", window, "")
    assert len(budget.left) == 68
    assert list(budget.spend()) == []
    assert len(budget.left) == 100
