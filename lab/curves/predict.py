"""Predictions from the recordings of a run, by the model as it is now."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from advisor.contract.recommendation import Advice, Change, Recommendation
from advisor.fleet.capacity import ServerPool
from advisor.fleet.warm_ups import WarmUp, warm_ups
from advisor.observe.limits import LEAST_SECONDS
from advisor.observe.window import Window
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import curve
from exporter.collectors.pools import POOLS
from exporter.recording.file import replay
from exporter.snapshot import Snapshot
from lab.curves.measure import COUNTED, ONCE, recording, workload_name
from lab.curves.workloads import OPTIONS
from lab.harness.records import Data, Entries
from lab.harness.watch import LONGEST, judge, the_rule
from lab.packages.cache import REPOSITORY

RULE, SETTING = "buffer-pool-too-small", "innodb_buffer_pool_size"
ONCE_TIMES = 4.0
_MODEL = ("advisor/pool", "advisor/models", "advisor/facts")
_FULL = 0.02
"""Share of the pool: the recording rules keep counters while more of it is free."""
_PAGE_BYTES = 16_384.0


def with_predictions(entries: Entries) -> dict[str, dict[str, Any]]:
    """The measurements of all workloads, with the predictions from their recordings."""
    with ProcessPoolExecutor() as processes:
        data = processes.map(_predict, entries, entries.values())
        return {name: {**entries[name], "data": predicted} for name, predicted in zip(entries, data, strict=True)}


def _predict(part: str, entry: Mapping[str, Any]) -> Data:
    server, name = entry["server"], workload_name(part)
    snapshots = list(replay(recording(server, name)))
    data = {**entry["data"], "model": _model()}
    if name == ONCE:
        return {**data, **judge_once(snapshots)}
    smaller = list(_smaller_pools(data["measured"], snapshots, mariadb=server.startswith("mariadb")))
    return {**data, "predicted": predict(data, snapshots), "warm_up": smaller}


def _model() -> str:
    """A digest of the model's code: whether two sets of predictions were made by the same."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in _MODEL for path in (REPOSITORY / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def predict(measured: Data, history: Sequence[Snapshot]) -> Data:
    """The prediction of a workload, as shares of the pages read a second today.

    Args:
        measured: Has the sizes.
        history: Its end, over which reads were counted, is the window; all before it is known, too.

    Returns:
        ``sizes``: by multiple of today's size, [expected, low, high]; ``notes``; ``cpu``: seconds;
        or ``unanswerable``: why there is none. ``advice``, if a larger pool is advised: its size as a multiple of
        today's, the reads that are promised, and their error.
    """
    advice = _promise(history)
    began = time.thread_time()
    try:
        predicted = curve(history, COUNTED, times=[float(times) for times in measured["measured"]])
    except Unanswerable as error:
        return {"unanswerable": str(error)} | advice
    cpu = time.thread_time() - began
    today = predicted.pages_read_per_second
    by_times = {f"{size.times:g}": size.pages_read_per_second for size in predicted.sizes}
    return {
        "reads": round(today, 2),
        "sizes": {
            times: [round(pages / today, 4) for pages in (reads.expected, reads.low, reads.high)]
            for times, reads in by_times.items()
        },
        "notes": list(predicted.notes),
        "cpu": round(cpu, 2),
    } | advice


def _advice(history: Sequence[Snapshot], longest: float) -> Advice:
    """The advice of the rule that enlarges the pool."""
    return judge(Window.of(history, longest), [the_rule(RULE)])


def _larger_pool(advice: Advice) -> tuple[Recommendation, Change] | None:
    """The recommendation to enlarge the pool, and its change."""
    for recommendation in advice.recommendations:
        for change in recommendation.changes:
            if change.setting == SETTING:
                return recommendation, change
    return None


def _promise(history: Sequence[Snapshot]) -> dict[str, Any]:
    larger = _larger_pool(_advice(history, COUNTED))
    if larger is None:
        return {}
    recommendation, change = larger
    effect = recommendation.effect
    if not (change.from_ and effect and effect.now):
        return {}
    return {
        "advice": {
            "times": round(float(change.to) / float(change.from_), 4),
            "promised": round(effect.predicted / float(effect.now), 4),
            "error": effect.error or 0.0,
        }
    }


def judge_once(history: Sequence[Snapshot]) -> Data:
    """The advice while the job that reads everything once runs, and the curve at its end.

    The rule judges after each collection, since a job may be seen at any time.

    Returns:
        ``grown``: how often a larger pool was advised; ``judged`` and ``blind``: how often the rule could judge and
        could not; ``read``: pages read a second; ``least``: the least share of these that is predicted for a pool of
        ONCE_TIMES the size, or ``unanswerable``: why there is none.
    """
    windows = [history[:number] for number in range(2, len(history) + 1)]
    advices = [_advice(window, LONGEST) for window in windows if window[-1].at - window[0].at >= LEAST_SECONDS]
    able = [advice for advice in advices if not (advice.blind or advice.failed)]
    grown = sum(_larger_pool(advice) is not None for advice in able)
    job = {"judged": len(able), "grown": grown, "blind": len(advices) - len(able)}
    try:
        at_end = curve(history, LONGEST)
    except Unanswerable as error:
        return job | {"unanswerable": str(error)}
    today = at_end.pages_read_per_second
    [least] = [size.pages_read_per_second.low for size in at_end.sizes if size.times == ONCE_TIMES]
    return job | {"read": round(today, 1), "least": round(least / today, 3)}


def warm_up(
    pages: Mapping[float, float], read: Mapping[float, float], gets: Mapping[float, float], size: int, *, mariadb: bool
) -> WarmUp | None:
    """The warm-up of a pool of so many MiB, from its counters by time."""
    filling = warm_ups(pages, read, gets, pool_pages=_pool(size).pages, mariadb=mariadb)
    return filling[0] if filling else None


def held_pages(size: int) -> float:
    """Pages of data that a pool of so many MiB holds."""
    pool = _pool(size)
    return pool.holds(pool.bytes)


def _pool(size: int) -> ServerPool:
    return ServerPool(size * 2.0**20, _PAGE_BYTES, float(OPTIONS["innodb-lru-scan-depth"]), 0.0, 0.0)


def _smaller_pools(
    measured: Mapping[str, Data], snapshots: Sequence[Snapshot], *, mariadb: bool
) -> Iterator[list[float]]:
    """What the warm-up of the watched pool, which was empty at first, says of the smaller pools.

    Yields:
        Multiple of the watched size, and pages read for what is counted: measured, expected and at most.
    """
    today = measured["1"]
    snapshots = [snapshot for snapshot in snapshots if snapshot[POOLS]]
    full = _FULL * _pool(today["mebibytes"]).pages
    filling = [snapshot for snapshot in snapshots if _sum(snapshot, "free_pages") > full]
    pages, read, gets = (
        {snapshot.at: _sum(snapshot, column) for snapshot in filling}
        for column in ("database_pages", "pages_read", "gets")
    )
    warmed = warm_up(pages, read, gets, today["mebibytes"], mariadb=mariadb)
    if warmed is None:
        return
    accesses = _accesses(snapshots, today, mariadb=mariadb)
    for times, smaller in measured.items():
        held = held_pages(smaller["mebibytes"]) + _sum(snapshots[0], "database_pages")
        if float(times) < 1 and warmed.knows(held):
            reads = smaller["read"] / smaller["done"], warmed.expected(held) * accesses, warmed.most(held) * accesses
            yield [float(times), *(round(share, 5) for share in reads)]


def _accesses(snapshots: Sequence[Snapshot], today: Data, *, mariadb: bool) -> float:
    """Gets of what is counted, without those that MySQL repeats: over the recording's end, where it was counted."""
    after = snapshots[-1]
    since = after.at - today["seconds"]
    before = min(snapshots[:-1], key=lambda snapshot: abs(snapshot.at - since))
    repeated = 0.0 if mariadb else _sum(after, "pages_read") - _sum(before, "pages_read")
    gets = _sum(after, "gets") - _sum(before, "gets") - repeated
    return float(gets / (after.at - before.at) / (today["done"] / today["seconds"]))


def _sum(snapshot: Snapshot, column: str) -> float:
    """Of all instances of the pool."""
    return float(sum(getattr(pool, column) for pool in snapshot[POOLS] or ()))
