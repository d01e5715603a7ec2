"""The parts: each load on each server."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from lab.harness.records import Part, PartResult
from lab.warm_ups import judge
from lab.warm_ups.measure import OPTIONS, TAKES, loads, measure

GROUP = "warm-ups"
"""lab/records/warm-ups.json."""
SERVERS = ("mysql-9.7", "mariadb-11.8")


def parts() -> list[Part]:
    """The measurements."""
    return [
        Part(GROUP, f"{server}, {each.name}", server, OPTIONS, partial(measure, each), TAKES)
        for server in SERVERS
        for each in loads()
    ]


def load(part: str) -> str:
    """The load of a part."""
    return part.partition(", ")[2]


def broken(done: Iterable[PartResult]) -> dict[str, str]:
    """The bounds that the results break, by name."""
    judged = [case for each in done for case in judge.cases(each.part.server, load(each.part.name), each.data)]
    return {f"{GROUP} {number}": text for number, text in enumerate(judge.broken(judged), 1)} if judged else {}
