"""The warm-ups' section of docs/proofs.md, from the records."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from lab.curves import judge, measure
from lab.curves.judge import SmallerPool
from lab.curves.warm_ups import EVERY, GROUP, LOADS, SCRAPE, SHARES, scraped_pools
from lab.curves.workloads import WORKLOADS
from lab.harness import records
from lab.reports.markdown import ran_on, table

_HEAD = """\

## Warm-ups

`innodb-advisor fleet --may-read` predicts what a server would read with a smaller pool from its restarts
([capacity](fleet.md#capacity)). Two measurements say how far it is off, each against pools really made so small. Pools
of the lab are small: the pages of the server itself, some hundred, are a part of them, and are taken off.
"""
_RECORDED = """
**The recordings of [the miss curve](miss-curve.md#how-it-was-checked).** The pool that was watched from empty
on predicts the reads in pools of half and three quarters of its size. `make lab EXPERIMENT=curves` measures and
judges.

"""
_READ_AS = """
InnoDB's list keeps pages that are asked for often better than the plain LRU list that a warm-up measures. The predicted
reads are too few on MySQL: its own pages, some 900, are a quarter of these pools, and what its start and the sampler
ask for counts among the first accesses. Where a table is scanned meanwhile, it is read for the first time then: that
counts as misses, and the predicted reads are too many. The advice goes by the most that is predicted.

"""
_SCRAPED = f"""
**Through Prometheus.** A server is restarted under a load with a known hot set. A real Prometheus scrapes the sidecar
and mysqld_exporter every {SCRAPE:g} s, with the recording rules that ship (time is scaled: rates are those of 10 s).
From the series that it recorded, as the fleet asks for them, come the reads with smaller pools. Each third and each
tenth point alone stand for pools that fill sooner, or for scrapes further apart. `make lab EXPERIMENT=warm-ups`.

"""


def section() -> str:
    """The section; empty while there is no record."""
    curves, scraped = records.load(measure.GROUP), records.load(GROUP)
    if curves is None and scraped is None:
        return ""
    return _HEAD + (_of_recordings(curves) if curves else "") + (_through_prometheus(scraped) if scraped else "")


def _of_recordings(record: Mapping[str, Any]) -> str:
    pools = judge.recorded_pools(record["parts"])
    rows = [_row(workload.name, [pool for pool in pools if pool.load == workload.name]) for workload in WORKLOADS]
    rows.append(_row("**without scans**", [pool for pool in pools if not pool.scanned]))
    rows.append(_row("**beside scans**", [pool for pool in pools if pool.scanned]))
    return f"{_RECORDED}{_table('workload', rows)}{_READ_AS}{ran_on(record)}\n"


def _through_prometheus(record: Mapping[str, Any]) -> str:
    pools = scraped_pools(record["parts"])
    rows = [
        _row(
            f"{title}, {_points(every)}",
            [pool for pool in pools if (pool.source, pool.every) == (source, every)],
        )
        for source, title in (("own", "the sidecar"), ("peer", "mysqld_exporter"))
        for every in EVERY
    ]
    return f"{_SCRAPED}{_table('series of', rows)}\n{_sizes(pools)}\n{ran_on(record)}\n"


def _table(first: str, rows: Sequence[Sequence[str]]) -> str:
    return table(
        (first, "pools", "median error", "a tenth is off by more than", "errors", "at most as predicted"), rows
    )


def _row(name: str, pools: Sequence[SmallerPool]) -> list[str]:
    if not pools:
        return [name, "0", "", "", "", ""]
    errors = [pool.error for pool in pools]
    return [
        name,
        str(len(pools)),
        f"{statistics.median(map(abs, errors)):.0%}",
        f"{judge.tenth(pools):.0%}",
        f"{min(errors):+.0%} … {max(errors):+.0%}",
        f"{sum(pool.held for pool in pools)} of {len(pools)}",
    ]


def _sizes(pools: Sequence[SmallerPool]) -> str:
    """Each load's pools, by the sidecar's series with all points."""
    cells = {
        (pool.server, pool.load, pool.share): f"{pool.expected:.3f}, not {pool.measured:.3f} ({pool.error:+.0%})"
        for pool in pools
        if (pool.source, pool.every) == ("own", 1)
    }
    rows = [
        [server, load.name, *(cells.get((server, load.name, share), "–") for share in SHARES)]
        for server in measure.SERVERS
        for load in LOADS
    ]
    about = "; ".join(f"{load.name}: {load.about}" for load in LOADS)
    head = f"Pages read a lookup, predicted and measured, with a pool of so much of the data ({about}):\n\n"
    return head + table(["server", "load", *(f"{share:.0%}" for share in SHARES)], rows)


def _points(every: int) -> str:
    return {1: "every point", 3: "each third point"}.get(every, f"each {every}th point")
