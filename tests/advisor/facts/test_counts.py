"""A counted table has its smallest secondary index, or the one that it lacks."""

from __future__ import annotations

from typing import Any

import pytest

from advisor import facts
from advisor.facts.base import SECONDARY
from advisor.fleet.sections import UNKNOWN
from advisor.observe.window import Window
from exporter.collectors.count_statements import CountStatement
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.snapshot import Index
from tests.advisor.building import ORDERS, ROWS, scanned
from tests.advisor.facts.capture_facts import facts_of

CLUSTERED = Index("shop", "orders", "PRIMARY")


def test_a_counted_table_without_a_secondary_index_has_the_size_of_the_missing_one() -> None:
    [counted] = facts_of("mysql-9.7/counted-without-index").lists["counted"]
    assert (counted.subject, counted.counts, counted.secondary_pages) == ({"schema": "shop", "table": "orders"}, 4, 0)
    assert (counted.key, counted.pages, counted.clustered_by_bug) == ("`id`", 1507, False)
    assert counted.key_index_pages == 8


def test_an_index_on_a_text_may_be_as_large_as_the_table() -> None:
    [counted] = facts_of("mysql-9.7/counted-text-key").lists["counted"]
    assert (counted.key, counted.has_secondary) == ("`id`", False)
    assert counted.key_index_pages == counted.pages == 1472


def test_the_smallest_secondary_index_is_named() -> None:
    [counted] = facts_of("mysql-9.7/counted-beside-index").lists["counted"]
    assert (counted.secondary, counted.secondary_pages) == ("k1", 17)


def test_of_secondary_indexes_whose_sum_is_known_the_smallest_is_not() -> None:
    sizes = {
        CLUSTERED: IndexSize(11_400, UNKNOWN, ROWS),
        Index("shop", "orders", SECONDARY): IndexSize(900, UNKNOWN, None),
    }
    counts = [{ORDERS: CountStatement(runs, 0.0, 0, 0)} for runs in (1, 4)]
    window = Window(
        tuple(
            scanned(at, 0, 0, index_sizes=IndexSizes(sizes, 0), count_statements=counted)
            for at, counted in zip((10, 20), counts, strict=True)
        )
    )
    [counted] = facts.facts(window).lists["counted"]
    assert (counted.has_secondary, counted.secondary, counted.secondary_pages) == (True, None, None)


@pytest.mark.parametrize(
    ("sections", "pages"),
    [
        ({"key_bytes": {ORDERS: 20}}, ROWS * 25.5 / 16_256),
        ({"key_bytes": {}}, 11_400),
        ({"key_bytes": {ORDERS: 9_999}}, 11_400),
        ({}, None),
    ],
)
def test_a_key_is_quoted_and_has_the_size_of_its_columns_if_that_is_known(
    sections: dict[str, Any], pages: float | None
) -> None:
    sizes = IndexSizes({CLUSTERED: IndexSize(11_400, 11_350, ROWS, ("a`b", "c"))}, 0)
    window = Window(
        tuple(
            scanned(at, 0, 0, index_sizes=sizes, count_statements={ORDERS: CountStatement(runs, 0.0, 0, 0)}, **sections)
            for at, runs in ((10, 1), (20, 4))
        )
    )
    [counted] = facts.facts(window).lists["counted"]
    assert counted.key == "`a``b`, `c`"
    assert counted.counts == 3
    assert counted.key_index_pages == (None if pages is None else pytest.approx(pages, abs=1))


def test_a_table_that_was_not_counted_in_the_window_is_not_in_the_list() -> None:
    assert facts_of("mysql-9.7/repeated-scan").lists["counted"] == []
