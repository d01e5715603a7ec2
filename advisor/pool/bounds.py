"""Bounds that no independent accesses break, of whatever distribution.

Under independent accesses a table's reads are the summed rates of its pages that are not in the pool. This holds for
any replacement policy. A larger pool can keep more of these pages, and saves least where they are all asked for equally
often. (Checked by linear programmes over all distributions, and by random mixtures in the tests; not proved.) Where the
server does not tell what the pool holds of each table, the pages that are not there are shared out so that a larger
pool saves least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from advisor.models.lru.popularity import Pages
from advisor.pool.load import TableReads, residents_known
from advisor.pool.search import root

_DOUBLINGS = 200
"""Of the first guess: more than any number of seconds that a page waits."""
_CLOSE = 1e-12
"""Accuracy, relative."""


def absent(tables: Mapping[str, TableReads], held: float) -> dict[str, float]:
    """Pages of each table that are not in the pool: those that are read.

    Args:
        tables: By name.
        held: Pages of all of them in the pool.
    """
    if residents_known(tables.values()):
        return {name: max(table.pages - (table.resident or 0.0), 1.0) for name, table in tables.items()}
    # As many pages for each read as the sizes allow: then all are asked for equally often.
    whole = math.fsum(table.pages for table in tables.values() if table.reads)
    gone = min(max(whole - held, 1.0), whole)

    def pages(seconds_between: float) -> dict[str, float]:
        return {name: min(table.pages, seconds_between * table.reads) for name, table in tables.items()}

    seconds_between = _first(lambda seconds: math.fsum(pages(seconds).values()) - gone)
    return pages(seconds_between)


def never_read(
    tables: Mapping[str, TableReads], resting: Mapping[str, TableReads], accesses: float, held: float, young: float
) -> tuple[Pages, ...]:
    """The pages that are asked for and always in the pool, all alike: so they have the most to lose.

    Args:
        tables: Those that are read, by name.
        resting: Those that are asked for and not read.
        accesses: To all of them, a second.
        held: Pages in the pool beside those of scanned tables.
        young: Of these, in the young sublist: where the server does not tell what the pool holds, it is assumed to hold
            all that fit there of tables that are not read.
    """
    gone = absent(tables, held)
    pages = math.fsum(table.pages - gone[name] for name, table in tables.items())
    if residents_known(resting.values()):
        pages += math.fsum(table.resident or 0.0 for table in resting.values())
    else:
        pages += min(math.fsum(table.pages for table in resting.values()), max(0.0, young - pages))
    pages = min(pages, held)
    hits = accesses - math.fsum(table.reads for table in tables.values())
    return (Pages(pages, hits / pages),) if pages >= 1.0 and hits > 0.0 else ()


def missed(tables: Mapping[str, TableReads], held: float) -> tuple[Pages, ...]:
    """The pages that are read, those of each table all alike: as ``absent``."""
    return tuple(Pages(pages, tables[name].reads / pages) for name, pages in absent(tables, held).items())


def even(tables: Mapping[str, TableReads], resting: Mapping[str, TableReads], accesses: float) -> tuple[Pages, ...]:
    """The load that asks for all pages equally often; ``accesses`` a second."""
    pages = math.fsum(table.pages for table in (*tables.values(), *resting.values()))
    return (Pages(pages, accesses / pages),) if pages else ()


def most(reads: Mapping[str, float], pages: Mapping[str, float], more: float) -> dict[str, float]:
    """The most that is read of each table with a pool that has room for more of their pages.

    Args:
        reads: Pages read a second today, by table.
        pages: Not in the pool today, by table.
        more: Pages that the larger pool has room for.
    """
    rates = {name: read / pages[name] for name, read in reads.items() if read > 0.0}
    if more >= math.fsum(pages[name] for name in rates):
        return dict.fromkeys(reads, 0.0)

    def filled(seconds: float) -> float:
        return math.fsum(-pages[name] * math.expm1(-rate * seconds) for name, rate in rates.items())

    seconds = _first(lambda tried: filled(tried) - more)
    return {name: read * math.exp(-rates[name] * seconds) if name in rates else 0.0 for name, read in reads.items()}


def least(reads: Mapping[str, float], pages: Mapping[str, float], fewer: float) -> float:
    """The least that is read with a pool that has room for fewer pages.

    Reads fall ever more slowly with the size. So a smaller pool reads at least as many more for each page as a larger
    one would save with the first page that it has more.
    """
    read = math.fsum(reads.values())
    if not read:
        return 0.0
    return read + fewer * math.fsum(rate**2 / pages[name] for name, rate in reads.items() if rate) / read


def _first(error: Callable[[float], float]) -> float:
    """The number at which an error that rises from below zero vanishes."""
    high = 1.0
    for _ in range(_DOUBLINGS):
        if error(high) >= 0.0:
            break
        high *= 2.0
    return root(error, 0.0, high, _CLOSE * high)
