"""Distributions of lookups over pages: which page is asked for next."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

PAGES = 12_288
"""Leaf pages of all tables that are looked up: 192 MiB."""
_HOT_AFTER = 80
"""Lookups after which a drifting hot set moves on by a page."""

Chooser = Callable[[random.Random, int, int], list[tuple[str, int]]]
"""The tables and pages of the next lookups, from random numbers, the lookups before, and the number of lookups."""


@dataclass(frozen=True)
class Distribution:
    """Lookups by primary key, one page each.

    Attributes:
        name: In kebab case.
        about: For the reader.
        tables: Leaf pages by table.
        choose: The pages of the next lookups.
    """

    name: str
    about: str
    tables: Mapping[str, int]
    choose: Chooser


def _ranked(table: str, pages: int) -> list[int]:
    """The pages of a table from the most popular to the least: anywhere in the table."""
    ranked = list(range(pages))
    random.Random(f"{table} {pages}").shuffle(ranked)
    return ranked


_RANKED = _ranked("items", PAGES)


def _zipf(skew: float) -> Chooser:
    weights = list(itertools.accumulate((rank + 1) ** -skew for rank in range(PAGES)))

    def choose(chooser: random.Random, _: int, times: int) -> list[tuple[str, int]]:
        return [("items", page) for page in chooser.choices(_RANKED, cum_weights=weights, k=times)]

    return choose


def _hot_spot(chooser: random.Random, _: int, times: int) -> list[tuple[str, int]]:
    hot = PAGES // 5
    return [
        ("items", _RANKED[chooser.randrange(hot) if chooser.random() < 0.8 else chooser.randrange(hot, PAGES)])
        for _ in range(times)
    ]


def _two_tables(chooser: random.Random, _: int, times: int) -> list[tuple[str, int]]:
    hot, cold = PAGES // 4, PAGES - PAGES // 4
    return [
        ("hot", chooser.randrange(hot)) if chooser.random() < 0.7 else ("cold", chooser.randrange(cold))
        for _ in range(times)
    ]


def _drifting(chooser: random.Random, before: int, times: int) -> list[tuple[str, int]]:
    width = PAGES // 10
    return [
        (
            "items",
            ((before + number) // _HOT_AFTER + chooser.randrange(width)) % PAGES
            if chooser.random() < 0.9
            else chooser.randrange(PAGES),
        )
        for number in range(times)
    ]


_ITEMS = {"items": PAGES}
DISTRIBUTIONS: Sequence[Distribution] = (
    Distribution("uniform", "all pages alike", _ITEMS, _zipf(0.0)),
    Distribution("zipf-0.6", "Zipf's law, exponent 0.6", _ITEMS, _zipf(0.6)),
    Distribution("zipf-0.9", "Zipf's law, exponent 0.9", _ITEMS, _zipf(0.9)),
    Distribution("zipf-1.2", "Zipf's law, exponent 1.2", _ITEMS, _zipf(1.2)),
    Distribution("hot-spot", "80 % of the lookups on 20 % of the pages", _ITEMS, _hot_spot),
    Distribution(
        "two-tables",
        "70 % of the lookups on a quarter of the pages, which is a table of its own",
        {"hot": PAGES // 4, "cold": PAGES - PAGES // 4},
        _two_tables,
    ),
    Distribution("drifting", "90 % of the lookups on a tenth of the pages, which moves on", _ITEMS, _drifting),
)
