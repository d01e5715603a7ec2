import pytest

from exporter.collectors import cached_indexes
from exporter.collectors.base import TOP
from exporter.collectors.cached_indexes import CachedIndexes
from exporter.rows import Rows
from exporter.server import identify
from exporter.snapshot import Index


def parsed(*rows: tuple[str, str, int]) -> CachedIndexes:
    return cached_indexes.parse([Rows.of(["TABLE_NAME", "INDEX_NAME", "PAGES"], rows)])


@pytest.mark.parametrize(
    ("version", "failure"),
    [("5.7.44", "absent"), ("8.0.11", None), ("26.7.0", None), ("11.8.6-MariaDB", "absent")],
)
def test_it_is_asked_where_there_is_such_a_table(version: str, failure: str | None) -> None:
    assert getattr(cached_indexes.queries(identify({"version": version})), "failure", None) == failure


def test_indexes_are_told_apart_by_case_and_partitions_are_not() -> None:
    found = parsed(("shop/t", "PRIMARY", 5), ("shop/T", "PRIMARY", 7), ("shop/p#p#p0", "k", 1), ("shop/p#p#p1", "k", 2))
    assert found == CachedIndexes(
        {Index("shop", "T", "PRIMARY"): 7, Index("shop", "t", "PRIMARY"): 5, Index("shop", "p", "k"): 3}, 0
    )


def test_the_small_ones_of_many_are_summed() -> None:
    found = parsed(*((f"shop/t{n}", "PRIMARY", n) for n in range(TOP + 20)))
    assert set(found.pages.values()) == set(range(20, TOP + 20))
    assert found.other_pages == sum(range(20))
