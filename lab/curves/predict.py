"""Predictions from the recordings of a run, by the model as it is now."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from advisor.contract.recommendation import Advice, Change, Recommendation
from advisor.observe.window import Window
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import curve
from exporter.recording.file import replay
from exporter.snapshot import Snapshot
from lab.curves.measure import COUNTED
from lab.harness.records import Data
from lab.harness.watch import judge, the_rule
from lab.packages.cache import REPOSITORY

RULE, SETTING = "buffer-pool-too-small", "innodb_buffer_pool_size"
_MODEL = ("advisor/pool", "advisor/models", "advisor/facts")


def model() -> str:
    """A digest of the model's code: whether two sets of predictions were made by the same."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in _MODEL for path in (REPOSITORY / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def predict(measured: Data, path: Path) -> Data:
    """The prediction of a workload, as shares of the pages read a second today.

    Args:
        measured: Has the sizes.
        path: Of the recording. Its end, over which reads were counted, is the window; all before it is known, too.

    Returns:
        ``sizes``: by multiple of today's size, [expected, low, high]; ``notes``; ``cpu``: seconds;
        or ``unanswerable``: why there is none. ``advice``, if a larger pool is advised: its size as a multiple of
        today's, the reads that are promised, and their error.
    """
    history = list(replay(path))
    advice = _advice(history)
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


def advised(history: Sequence[Snapshot], longest: float) -> Advice:
    """The advice of the rule that enlarges the pool."""
    return judge(Window.of(history, longest), [the_rule(RULE)])


def larger_pool(advice: Advice) -> tuple[Recommendation, Change] | None:
    """The recommendation to enlarge the pool, and its change."""
    for recommendation in advice.recommendations:
        for change in recommendation.changes:
            if change.setting == SETTING:
                return recommendation, change
    return None


def _advice(history: Sequence[Snapshot]) -> dict[str, Any]:
    larger = larger_pool(advised(history, COUNTED))
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
