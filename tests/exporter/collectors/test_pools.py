import pytest

from exporter.collectors import pools
from exporter.rows import Rows

COLUMNS = [
    column.strip() for column in pools.SQL.partition(" FROM ")[0].removeprefix("SELECT").replace("\n", "").split(",")
]


def test_each_instance_is_a_pool() -> None:
    first, second = pools.parse([Rows.of(COLUMNS, [range(14), range(100, 114)])])
    assert (first.pool, first.size_pages, first.read_ahead_evicted) == (0, 1, 13)
    assert (second.pool, second.free_pages, second.old_pages) == (100, 102, 104)


@pytest.mark.parametrize("rows", [[], [[None] * 14], [["x"] * 14]], ids=["none", "nulls", "texts"])
def test_an_answer_without_numbers_is_refused(rows: list[list[str | None]]) -> None:
    with pytest.raises(ValueError, match=r"empty|NULL|invalid literal"):
        pools.parse([Rows.of(COLUMNS, rows)])
