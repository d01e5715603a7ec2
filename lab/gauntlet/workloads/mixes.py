"""Random mixes of clients, table sizes and pool sizes, by seed."""

from __future__ import annotations

import random
from collections.abc import Callable

from lab.gauntlet import clients
from lab.gauntlet.workload import SERVERS, ClientWork, GauntletWorkload
from lab.harness.workloads import SCHEMA

_EXPECTATION = "Whatever is advised must keep its promise and harm nothing."
_POOLS = {"24M": 1_536, "32M": 2_048, "48M": 3_072}

Kind = Callable[[random.Random, str, int], tuple[str, ClientWork]]


def _scan(chooser: random.Random, table: str, _: int) -> tuple[str, ClientWork]:
    every = chooser.choice((1, 1, 2))
    return f"a scan of {table}" + (" in every second one" if every > 1 else ""), clients.scan(table, every=every)


def _lookups(chooser: random.Random, table: str, pages: int) -> tuple[str, ClientWork]:
    hot, times = chooser.randint(pages // 4, pages), chooser.randint(200, 1_000)
    return f"{times} lookups on {hot:,} pages of {table}", clients.look_up(table, hot, times)


def _skewed(chooser: random.Random, table: str, pages: int) -> tuple[str, ClientWork]:
    times, skew = chooser.randint(200, 1_000), chooser.choice((0.7, 1.0, 1.3))
    return f"{times} lookups on {table} by Zipf's law, {skew}", clients.look_up_skewed(table, pages, times, skew)


def _insert(chooser: random.Random, table: str, _: int) -> tuple[str, ClientWork]:
    rows = chooser.randint(20, 200)
    return f"{rows} inserts into {table}", clients.insert(table, rows)


def _range(chooser: random.Random, table: str, pages: int) -> tuple[str, ClientWork]:
    step = chooser.randint(50, 300)
    return f"{step} further pages of {table} by its key", clients.walk(table, pages, step)


def _in_order(_: random.Random, table: str, __: int) -> tuple[str, ClientWork]:
    return f"{table} ORDER BY id", clients.query(f"SELECT LENGTH(filler) FROM {SCHEMA}.{table} ORDER BY id")


def _pagination(_: random.Random, table: str, __: int) -> tuple[str, ClientWork]:
    return f"{table} by pages of 500 rows", clients.paginate(table)


def _updates(chooser: random.Random, table: str, pages: int) -> tuple[str, ClientWork]:
    times = chooser.randint(50, 200)
    return f"{times} updates of {table}", clients.update(table, pages, times)


KINDS: tuple[Kind, ...] = (_scan, _scan, _lookups, _skewed, _insert, _range, _in_order, _pagination, _updates)


def mixes(seed: int, number: int) -> tuple[GauntletWorkload, ...]:
    """So many random mixes; the same for the same seed."""
    return tuple(_mix(f"{seed}-{n}") for n in range(1, number + 1))


def _mix(name: str) -> GauntletWorkload:
    chooser = random.Random(f"gauntlet {name}")
    size = chooser.choice(list(_POOLS))
    tables, works, words = {}, {}, []
    for number in range(1, chooser.randint(2, 4) + 1):
        table = f"t{number}"
        tables[table] = round(_POOLS[size] * chooser.choice((0.15, 0.3, 0.5, 0.65, 0.8, 1.2, 1.6)))
        text, works[f"client {number}"] = chooser.choice(KINDS)(chooser, table, tables[table])
        words.append(text)
    sizes = ", ".join(f"{table} of {pages:,} pages" for table, pages in tables.items())
    return GauntletWorkload(
        f"mix-{name}",
        f"A pool of {_POOLS[size]:,} pages, tables {sizes}: {'; '.join(words)} a round.",
        _EXPECTATION,
        works,
        tables=tables,
        options={"": {"innodb-buffer-pool-size": size}},
        servers=(chooser.choice(SERVERS),),
        cycle=2,
        watched=8,
        warm_up=4,
    )
