"""The passes of E2 and E3: rows, the pass that finds a table cached, and failing checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import pytest

from advisor.models.lru.scenario import Pass
from lab.campaign import records
from lab.campaign.part import Data
from lab.experiments import EXPERIMENTS
from lab.experiments.passes import PassSeries, rows


def series(measured: Sequence[int], model: Sequence[int]) -> PassSeries:
    """Passes of a second each over a table of 1,000 pages."""

    def passes(read: Sequence[int]) -> tuple[Pass, ...]:
        return tuple(
            Pass(step=n, object="t", number=1, pages_read=pages, **dict.fromkeys(Pass._fields[4:], 0))
            for n, pages in enumerate(read, 1)
        )

    return PassSeries(1000, (1.0,) * len(measured), passes(measured), passes(model))


def test_similar_passes_share_a_row_except_for_the_first() -> None:
    found = series([1000, 998, 990, 500, 0, 0], [1000, 995, 995, 480, 0, 0])
    names = [row[0] for row in rows(found, (45.0, 44.0, 44.0, 24.0, 13.0, 13.0))]
    assert names == ["1", "2 to 3", "4", "5 to 6"]
    assert [row[0] for row in rows(found, (45.0, 44.0, 24.0, 24.0, 13.0, 1.0))] == ["1", "2", "3", "4", "5", "6"]


def test_rows_of_unpublished_passes_have_no_published_seconds() -> None:
    found = list(rows(series([1000, 0, 0], [1000, 0, 0]), (7.0, 1.0)))
    assert found == [("1", 7.0, 1.0, 1000, 1000), ("2", 1.0, 1.0, 0, 0), ("3", None, 1.0, 0, 0)]


def test_a_table_is_cached_at_the_first_pass_that_reads_hardly_anything() -> None:
    found = series([1000, 11, 9, 500], [1000, 1000, 1000, 1000])
    assert (found.cached_at, found.says_cached_at) == (3, 5)
    assert (found.least_later, found.most_later) == (0.009, 0.5)


def every_pass_reads_all(_read: int, pages: int) -> int:
    return pages


def every_pass_finds_it_cached(read: int, _pages: int) -> int:
    return min(read, 1)


@pytest.mark.parametrize("changed", [every_pass_reads_all, every_pass_finds_it_cached])
@pytest.mark.parametrize("name", ["E2", "E3"])
def test_other_numbers_of_pages_break_a_check(name: str, changed: Callable[[int, int], int]) -> None:
    record = records.load(f"experiments/{name}")
    assert record is not None
    assert all(check.holds for check in EXPERIMENTS[name].conclude(records.data(record)).checks)
    parts: dict[str, Data] = json.loads(json.dumps(records.data(record)))
    for part in parts.values():
        for each in part.values():
            played = each.get("played", each)
            for step, pass_ in zip(played["scenario"]["steps"][1:], played["passes"], strict=True):
                pass_[3] = changed(pass_[3], step["pages"])
    failed = [check.what for check in EXPERIMENTS[name].conclude(parts).checks if not check.holds]
    assert len(failed) >= 4
