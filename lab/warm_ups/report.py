"""The warm-ups' section of docs/proofs.md, from the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lab.curves.workloads import WORKLOADS
from lab.harness import records
from lab.reports.markdown import ran_on, table
from lab.warm_ups import judge, recorded
from lab.warm_ups.campaign import GROUP, load
from lab.warm_ups.judge import EVERY, Case
from lab.warm_ups.measure import SCRAPE, SHARES, loads

_SERVERS = ("mysql-9.7", "mariadb-11.8")
_HEAD = """\

## Warm-ups

`innodb-advisor fleet --may-read` foretells what a server would read with a smaller pool from its restarts
([capacity](fleet.md#capacity)). Two measurements say how far it is off, each against pools really made so small. Pools
of the lab are small: the pages of the server itself, some hundred, are a part of them, and are taken off.
"""
_RECORDED = """
**The recordings of [the miss curve](miss-curve.md#how-it-was-checked).** The pool that was watched from empty
on foretells the reads in pools of half and three quarters of its size. `make lab EXPERIMENT=curves` measures,
`python -m lab.warm_ups` judges.

"""
_READ_AS = """
InnoDB's list keeps pages that are asked for often better than the plain LRU list that a warm-up measures. The foretold
reads are too few on MySQL: its own pages, some 900, are a quarter of these pools, and what its start and the sampler
ask for counts among the first accesses. Where a table is scanned meanwhile, it is read for the first time then: that
counts as misses, and the foretold reads are too many. The advice goes by the most that is foretold.

"""
_SCRAPED = f"""
**Through Prometheus.** A server is restarted under a load with a known hot set. A real Prometheus scrapes the sidecar
and mysqld_exporter every {SCRAPE:g} s, with the recording rules that ship (time is scaled: rates are those of 10 s).
From the series that it recorded, as the fleet asks for them, come the reads with smaller pools. Each third and each
tenth point alone stand for pools that fill sooner, or for scrapes further apart. `make lab EXPERIMENT=warm-ups`.

"""


def section() -> str:
    """The section; empty while there is no record."""
    judged, scraped = records.load(recorded.GROUP), records.load(GROUP)
    if judged is None and scraped is None:
        return ""
    return _HEAD + (_of_recordings(judged) if judged else "") + (_through_prometheus(scraped) if scraped else "")


def _of_recordings(record: Mapping[str, Any]) -> str:
    every = list(recorded.cases(record))
    rows = [_row(each.name, [case for case in every if case.load == each.name]) for each in WORKLOADS]
    rows.append(_row("**without scans**", [case for case in every if not scanned(case)]))
    rows.append(_row("**beside scans**", [case for case in every if scanned(case)]))
    return f"{_RECORDED}{_table('workload', rows)}{_READ_AS}{ran_on(record)}\n"


def scanned(case: Case) -> bool:
    """Whether scans ran beside it."""
    return case.load.endswith("-scans")


def _through_prometheus(record: Mapping[str, Any]) -> str:
    parts = record["parts"].items()
    every = [case for name, part in parts for case in judge.cases(part["server"], load(name), part["data"])]
    rows = []
    for source, title in (("own", "the sidecar"), ("peer", "mysqld_exporter")):
        for number in EVERY:
            some = [case for case in every if (case.source, case.every) == (source, number)]
            rows.append(_row(f"{title}, {_points(number)}", some))
    return f"{_SCRAPED}{_table('series of', rows)}\n{_sizes(every)}\n{ran_on(record)}\n"


def _table(first: str, rows: Sequence[Sequence[str]]) -> str:
    return table((first, "pools", "median error", "a tenth is off by more than", "errors", "at most as foretold"), rows)


def _row(name: str, some: Sequence[Case]) -> list[str]:
    if not some:
        return [name, "0", "", "", "", ""]
    found = judge.verdict(some)
    return [
        name,
        str(found.cases),
        f"{found.median:.0%}",
        f"{found.tenth:.0%}",
        f"{found.least:+.0%} … {found.worst:+.0%}",
        f"{found.held} of {found.cases}",
    ]


def _sizes(every: Sequence[Case]) -> str:
    """Each load's pools, by the sidecar's series with all points."""
    rows = []
    for server in _SERVERS:
        for each in loads():
            known = {
                case.share: f"{case.expected:.3f}, not {case.measured:.3f} ({case.error:+.0%})"
                for case in every
                if (case.server, case.load, case.source, case.every) == (server, each.name, "own", 1)
            }
            rows.append([server, each.name, *(known.get(share, "–") for share in SHARES)])
    said = "; ".join(f"{each.name}: {each.about}" for each in loads())
    head = f"Pages read a lookup, foretold and measured, with a pool of so much of the data ({said}):\n\n"
    return head + table(["server", "load", *(f"{share:.0%}" for share in SHARES)], rows)


def _points(every: int) -> str:
    return {1: "every point", 3: "each third point"}.get(every, f"each {every}th point")
