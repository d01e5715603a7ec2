"""Each load asks for the pages that its description says."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from lab.curves.loads import LOADS, PAGES, Load

TIMES = 50_000
BY_NAME = {each.name: each for each in LOADS}


def asked(name: str, before: int = 0, seed: int = 1) -> Counter[tuple[str, int]]:
    return Counter(BY_NAME[name].choose(random.Random(seed), before, TIMES))  # noqa: S311 - a load


def share_of_hottest(name: str, share: float) -> float:
    """Lookups to the pages that another draw found hottest."""
    hottest = [page for page, _ in asked(name).most_common(round(share * PAGES))]
    found = asked(name, seed=2)
    return sum(found[page] for page in hottest) / TIMES


@pytest.mark.parametrize("load", LOADS, ids=lambda each: each.name)
def test_a_load_asks_for_pages_of_its_tables(load: Load) -> None:
    found = asked(load.name)
    assert found.total() == TIMES
    assert all(0 <= page < load.tables[table] for table, page in found)
    assert sum(load.tables.values()) == PAGES


@pytest.mark.parametrize(
    ("name", "share"), [("uniform", 0.1), ("zipf-0.6", 0.39), ("zipf-0.9", 0.67), ("zipf-1.2", 0.90)]
)
def test_the_hottest_tenth_of_the_pages_has_its_share_of_the_lookups(name: str, share: float) -> None:
    assert share_of_hottest(name, 0.1) == pytest.approx(share, abs=0.06)


def test_a_hot_spot_and_a_hot_table_have_their_share() -> None:
    assert share_of_hottest("hot-spot", 0.2) == pytest.approx(0.8, abs=0.02)
    tables = Counter(table for table, _ in asked("two-tables").elements())
    assert tables["hot"] / TIMES == pytest.approx(0.7, abs=0.02)


def test_a_drifting_hot_set_is_elsewhere_later() -> None:
    def hot(before: int) -> set[tuple[str, int]]:
        return {page for page, times in asked("drifting", before).items() if times > TIMES / PAGES * 4}

    assert hot(0)
    assert not hot(0) & hot(PAGES * 80 // 2)
