"""What the change buffer and the parallel readers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy
from advisor.facts import ScanFacts
from advisor.facts.base import ratio
from advisor.facts.change_buffer import counted
from advisor.facts.parallel import parallel
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.variables import VARIABLES
from exporter.rows import number


class ChangeBuffer(Frozen):
    """The change buffer over the window."""

    state: Literal["on", "off", "none"] = Field(
        description="on: it buffers changes. off: innodb_change_buffering is none; changes from before may wait in it."
        " none: this server has no change buffer."
    )
    pages: int | None = Field(description="Its size; an empty one has one page.")
    max_pages: int | None = Field(description="Largest size that innodb_change_buffer_max_size allows.")
    merges_per_second: Number | None = Field(description="Pages whose waiting changes were applied.")
    operations_per_second: Number | None = Field(description="Changes that these merges applied.")
    operations_per_merge: Number | None = Field(description="Changes for each page; null without a merge.")


class Readers(Frozen):
    """The parallel readers (MySQL 8.0.14 and later)."""

    active_threads: int = Field(description="Alive at the last sample.")
    max_threads: int | None = Field(description="For one statement: innodb_parallel_read_threads.")
    mean_threads: Number | None = Field(description="Alive on average over the window, by samples.")
    scans_per_hour: Number | None = Field(
        description="Scans of whole tables by COUNT(*); where the statements are not known, the scans that samples saw,"
        " which miss short ones."
    )


def change_buffer(window: Window) -> ChangeBuffer | None:
    """The change buffer; None where its settings or its counters are not known."""
    latest = window.latest
    if latest[VARIABLES] is None:
        return None
    buffering = latest.setting("innodb_change_buffering")
    if buffering is None:
        return ChangeBuffer(
            state="none",
            pages=None,
            max_pages=None,
            merges_per_second=None,
            operations_per_second=None,
            operations_per_merge=None,
        )
    if latest[INNODB_METRICS] is None:
        return None
    found = counted(window)
    return ChangeBuffer(
        state="off" if buffering == "none" else "on",
        pages=None if found.size_pages is None else int(found.size_pages),
        max_pages=None if found.max_pages is None else int(found.max_pages),
        merges_per_second=_tidy(found.merges_per_second),
        operations_per_second=_tidy(ratio(found.merged_operations, window.seconds)),
        operations_per_merge=_tidy(found.operations_per_merge),
    )


def readers(window: Window, scans: Sequence[ScanFacts]) -> Readers | None:
    """The parallel readers; None where the server has none, or their threads are not known."""
    latest = window.latest[PARALLEL_READERS]
    if latest is None:
        return None
    found, threads = parallel(window), number(window.latest.setting("innodb_parallel_read_threads"))
    known = window.latest[COUNT_STATEMENTS] is not None and window.latest[INDEX_SIZES] is not None
    seen = sum(scan.parallel_passes or 0.0 for scan in scans) if known else found.reads_observed
    return Readers(
        active_threads=latest.threads,
        max_threads=None if threads is None else int(threads),
        mean_threads=_tidy(ratio(found.thread_seconds, window.seconds)),
        scans_per_hour=_tidy(ratio(None if seen is None else seen * 3600.0, window.seconds)),
    )


def _tidy(value: float | None) -> Number | None:
    return None if value is None else tidy(value)
