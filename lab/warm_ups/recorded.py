"""The recordings of the miss curves as warm-ups: each watched pool was empty at first.

The counters while it filled foretell the reads in the smaller ones, which were counted in pools really made so small.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from advisor.fleet.warm_ups import warm_ups
from exporter.collectors.pools import POOLS
from exporter.recording.file import replay
from exporter.snapshot import Snapshot
from lab.curves import campaign as curves
from lab.curves import once
from lab.harness import records
from lab.harness.records import Data
from lab.warm_ups import judge
from lab.warm_ups.judge import Case, pool

GROUP = "warm-ups-recorded"
"""lab/records/warm-ups-recorded.json."""
_FULL = 0.02
"""Share of the pool: the recording rules keep counters while more of it is free."""


def record() -> Mapping[str, Any]:
    """Judge the recordings in the cache, which `make lab EXPERIMENT=curves` makes, and write the record.

    Raises:
        FileNotFoundError: There is no record of the curves, or a recording is not in the cache.
    """
    measured = records.load(curves.GROUP)
    if measured is None:
        raise FileNotFoundError("lab/records/curves.json")
    parts = {
        name: {
            "server": part["server"],
            "version": part["version"],
            "data": {"cases": _cases(part["server"], curves.workload(name), part["data"])},
        }
        for name, part in measured["parts"].items()
        if curves.workload(name) != once.NAME
    }
    found = {"date": dt.datetime.now(tz=dt.UTC).date().isoformat(), "machine": measured["machine"], "parts": parts}
    path = records.FOLDER / f"{GROUP}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return found


def cases(found: Mapping[str, Any]) -> Iterator[Case]:
    """The cases in the record."""
    for name, part in found["parts"].items():
        for share, measured, expected, most in part["data"]["cases"]:
            yield Case(part["server"], curves.workload(name), "recording", 1, share, measured, expected, most)


def broken(found: Iterable[Case]) -> Iterator[str]:
    """The bounds that the cases break: of lookups alone the error, of all that no more is read than foretold."""
    every = list(found)
    yield from judge.broken([case for case in every if not case.load.endswith("-scans")])
    yield from judge.too_little(every)


def _cases(server: str, name: str, data: Data) -> list[list[float]]:
    """Multiple of the watched size, and pages read for what is counted: measured, expected and at most."""
    today = data["measured"]["1"]
    snapshots = [each for each in replay(curves.recording(server, name)) if each[POOLS]]
    mariadb = server.startswith("mariadb")
    size = pool(today["mebibytes"])
    filling = [each for each in snapshots if _sum(each, "free_pages") > _FULL * size.pages]
    pages, read, gets = (
        {each.at: _sum(each, column) for each in filling} for column in ("database_pages", "pages_read", "gets")
    )
    if not (found := warm_ups(pages, read, gets, pool_pages=size.pages, mariadb=mariadb)):
        return []
    of_server = _sum(snapshots[0], "database_pages")
    accesses = _accesses(snapshots, today, mariadb=mariadb)
    judged = []
    for times, each in data["measured"].items():
        smaller = pool(each["mebibytes"])
        held = smaller.holds(smaller.bytes) + of_server
        if float(times) < 1 and found[0].knows(held):
            reads = each["read"] / each["done"], found[0].expected(held) * accesses, found[0].most(held) * accesses
            judged.append([float(times), *(round(one, 5) for one in reads)])
    return judged


def _accesses(snapshots: list[Snapshot], measured: Data, *, mariadb: bool) -> float:
    """Gets of what is counted, without those that MySQL repeats: over the recording's end, where it was counted."""
    since = snapshots[-1].at - measured["seconds"]
    before = min(snapshots[:-1], key=lambda each: abs(each.at - since))
    after = snapshots[-1]
    repeated = 0.0 if mariadb else _sum(after, "pages_read") - _sum(before, "pages_read")
    gets = _sum(after, "gets") - _sum(before, "gets") - repeated
    return float(gets / (after.at - before.at) / (measured["done"] / measured["seconds"]))


def _sum(snapshot: Snapshot, column: str) -> float:
    """Of all instances of the pool."""
    values: list[float] = [getattr(each, column) for each in snapshot[POOLS] or ()]
    return float(sum(values))
