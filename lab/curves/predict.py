"""Predictions from the recordings of a run, by the model as it is now."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from advisor.advice import evaluation
from advisor.contract.recommendation import Advice
from advisor.observe.window import Window
from advisor.pool.curve import Curve, Estimate
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import curve
from exporter.recording.file import replay
from exporter.snapshot import Snapshot
from lab.curves.measure import COUNTED
from lab.harness.records import Data
from lab.harness.watch import rules
from lab.packages.cache import REPOSITORY

RULE, SETTING = "buffer-pool-too-small", "innodb_buffer_pool_size"
_PATIENCE = 180.0
"""The rule's time budget here, seconds: the result must not depend on the machine's load."""
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
    began = time.thread_time()
    try:
        found = curve(history, COUNTED, times=[float(times) for times in measured["measured"]])
    except Unanswerable as error:
        return {"unanswerable": str(error)} | _advice(history)
    cpu = time.thread_time() - began
    return {
        "reads": round(found.reads, 2),
        "sizes": {f"{size.times:g}": _relative(found, size.reads) for size in found.sizes},
        "notes": list(found.notes),
        "cpu": round(cpu, 2),
    } | _advice(history)


def advised(history: Sequence[Snapshot], longest: float) -> Advice:
    """The advice of the rule that enlarges the pool."""
    [rule] = [each for each in rules() if each.id == RULE]
    return evaluation.advise([rule.with_budget(_PATIENCE)], Window.of(history, longest), beside=rules())


def _advice(history: Sequence[Snapshot]) -> dict[str, Any]:
    for each in advised(history, COUNTED).recommendations:
        for change in each.changes:
            if change.setting == SETTING and change.from_ and each.effect and each.effect.now:
                now, effect = float(each.effect.now), each.effect
                advice = {
                    "times": round(float(change.to) / float(change.from_), 4),
                    "promised": round(effect.predicted / now, 4),
                    "error": effect.error or 0.0,
                }
                return {"advice": advice}
    return {}


def _relative(found: Curve, reads: Estimate) -> list[float]:
    return [round(each / found.reads, 4) for each in (reads.expected, reads.low, reads.high)]
