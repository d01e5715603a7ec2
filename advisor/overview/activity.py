"""What the change buffer and the parallel readers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy_or_none
from advisor.facts import ScanFacts
from advisor.facts.base import ratio
from advisor.facts.change_buffer import ChangeBufferFacts, counted
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
    buffering = latest.setting("innodb_change_buffering")
    if latest[VARIABLES] is None or (buffering is not None and latest[INNODB_METRICS] is None):
        return None
    facts = ChangeBufferFacts() if buffering is None else counted(window)
    return ChangeBuffer(
        state="none" if buffering is None else "off" if buffering == "none" else "on",
        pages=None if facts.size_pages is None else int(facts.size_pages),
        max_pages=None if facts.max_pages is None else int(facts.max_pages),
        merges_per_second=tidy_or_none(facts.merges_per_second),
        operations_per_second=tidy_or_none(ratio(facts.merged_operations, window.seconds)),
        operations_per_merge=tidy_or_none(facts.operations_per_merge),
    )


def readers(window: Window, scans: Sequence[ScanFacts]) -> Readers | None:
    """The parallel readers; None where the server has none, or their threads are not known."""
    latest = window.latest
    if (sample := latest[PARALLEL_READERS]) is None:
        return None
    facts, most = parallel(window), number(latest.setting("innodb_parallel_read_threads"))
    counts: float | None = facts.reads_observed
    if latest[COUNT_STATEMENTS] is not None and latest[INDEX_SIZES] is not None:
        counts = sum(scan.parallel_passes or 0.0 for scan in scans)
    return Readers(
        active_threads=sample.threads,
        max_threads=None if most is None else int(most),
        mean_threads=tidy_or_none(ratio(facts.thread_seconds, window.seconds)),
        scans_per_hour=tidy_or_none(ratio(None if counts is None else counts * 3600.0, window.seconds)),
    )
