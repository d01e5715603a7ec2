"""Predictions from the recordings of a run, by the model as it is now."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from advisor.pool.curve import Curve, Estimate
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import curve
from exporter.recording.file import replay
from lab.campaign.part import Data
from lab.curves.measure import recording
from lab.packages.cache import REPOSITORY

WINDOW = 12.0
"""Seconds of the window, in which three scans begin, after the pool has come to rest. The filling before it is also
known too."""
_PAGE_BYTES = 16_384
_MODEL = ("advisor/curve", "advisor/models", "advisor/whatif", "advisor/facts")


def model() -> str:
    """A digest of the model's code: whether two sets of predictions were made by the same."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in _MODEL for path in (REPOSITORY / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def predict(measured: Data, folder: Path, pages: int) -> Data:
    """The predictions of a workload, by watched size.

    Args:
        measured: Has the watched sizes.
        folder: Has their recordings.
        pages: Of all its tables.
    """
    return {str(share): _predicted(recording(folder, share), pages) for share in measured["watched"]}


def _predicted(path: Path, pages: int) -> Data:
    """A prediction, relative to the pages read a second today.

    Returns:
        ``sizes``: by multiple of today's size, [expected, low, high]; ``filled``: [share of the data, reads];
        ``notes``; ``cpu``: seconds. Or ``unanswerable``: why there is none.
    """
    history = list(replay(path))
    began = time.thread_time()
    try:
        found = curve(history, WINDOW)
    except Unanswerable as error:
        return {"unanswerable": str(error)}
    cpu = time.thread_time() - began
    return {
        "reads": round(found.reads, 2),
        "sizes": {f"{size.times:g}": _relative(found, size.reads) for size in found.sizes},
        "filled": [
            [round(each.bytes / (pages * _PAGE_BYTES), 4), round(each.reads / found.reads, 4)] for each in found.filled
        ],
        "notes": list(found.notes),
        "cpu": round(cpu, 2),
    }


def _relative(found: Curve, reads: Estimate) -> list[float]:
    return [round(each / found.reads, 4) for each in (reads.expected, reads.low, reads.high)]
