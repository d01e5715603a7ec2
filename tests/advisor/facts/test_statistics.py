"""A table is larger than its statistics say if statements read more of it; counts of resident pages show nothing."""

from __future__ import annotations

from typing import Any

import pytest

from advisor import facts
from advisor.facts.statistics import StatisticsFacts
from advisor.observe.window import Window
from exporter.collectors.cached_indexes import CachedIndexes
from exporter.snapshot import Index, ReadOutcome
from tests.advisor.building import ORDERS, scanned
from tests.advisor.facts.capture_facts import facts_of

FILE = {ORDERS: 20_000 * 16_384}
NO_SOURCE = {"table_statements": ReadOutcome(0.0, 0.0, "disabled", "performance_schema is OFF", "switch it on")}


def statistics(pages_read: int, statements: int, **sections: Any) -> list[StatisticsFacts]:
    known: dict[str, Any] = {"file_sizes": FILE} | sections
    if "outcomes" not in known:
        known["table_statements"] = {ORDERS: 0}
    last = known | ({"table_statements": {ORDERS: statements}} if "outcomes" not in known else {})
    window = Window((scanned(10, 0, 0, **known), scanned(20, 0, pages_read, **last)))
    return list(facts.facts(window).lists["statistics"])


def test_a_statement_reads_as_many_pages_as_the_table_has_at_least() -> None:
    assert statistics(76_000, 3) == [StatisticsFacts("shop", "orders", 11_400.0, 19_000.0)]


def test_of_the_file_no_more_is_read_than_it_has() -> None:
    assert statistics(400_000, 3) == [StatisticsFacts("shop", "orders", 11_400.0, 20_000.0)]


@pytest.mark.parametrize("statements", [7, 100])
def test_many_statements_that_read_little_show_nothing(statements: int) -> None:
    assert statistics(76_000, statements) == []


def test_freed_pages_that_the_server_goes_on_counting_show_nothing() -> None:
    assert statistics(0, 3, cached_indexes=CachedIndexes({Index("shop", "orders", "PRIMARY"): 30_000}, 0)) == []
    assert facts_of("mysql-9.7/tpcc-transactions").lists["statistics"] == []


@pytest.mark.parametrize(("pages_read", "unknown"), [(11_400, []), (11_401, ["orders"])])
def test_without_a_source_a_table_is_suspect_if_more_was_read_than_it_has(pages_read: int, unknown: list[str]) -> None:
    suspects = statistics(pages_read, 0, outcomes=NO_SOURCE)
    assert [table.table for table in suspects if table.least_pages is None] == unknown
