"""Parallel reader threads over the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from advisor.facts.base import Meaning
from advisor.observe.window import Window
from exporter.collectors.parallel_readers import PARALLEL_READERS


@dataclass(frozen=True, slots=True)
class ParallelFacts:
    """Parallel reader threads over the window, as samples saw them."""

    threads_seen: Annotated[float | None, Meaning("Reader threads alive at the newest sample.", unit="threads")] = None
    thread_seconds: Annotated[float | None, Meaning("Time of all reader threads together.", unit="seconds")] = None
    reads_observed: Annotated[
        float | None,
        Meaning(
            "Samples that saw reader threads after one that saw none: a lower bound of the parallel reads.",
            unit="reads",
        ),
    ] = None


def parallel(window: Window) -> ParallelFacts:
    """From performance_schema.threads."""
    latest = window.latest[PARALLEL_READERS]
    return ParallelFacts(
        threads_seen=None if latest is None or latest.threads is None else float(latest.threads),
        thread_seconds=window.delta(
            lambda s: None if (readers := s[PARALLEL_READERS]) is None else readers.thread_seconds
        ),
        reads_observed=window.delta(
            lambda s: None if (readers := s[PARALLEL_READERS]) is None else readers.reads_observed
        ),
    )
