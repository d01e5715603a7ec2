"""Memory of the buffer pool that could go, by the reads of each hour of the last days (advisor.pool.hours)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from advisor.facts.base import Meaning

NO_MEMORY = "run `serve --state-dir DIR` for three days"


@dataclass(frozen=True, slots=True)
class SpareFacts:
    """Memory of the buffer pool that could go, by the reads of each hour of the last days."""

    kept: Annotated[bool, Meaning("Whether the miss curve of each hour is remembered (`serve --state-dir`).")] = False
    days: Annotated[
        float,
        Meaning(
            "Days on which the least often watched hour of the day was watched, with today's settings and outside of "
            "any warm-up.",
            unit="days",
        ),
    ] = 0.0
    least_watched: Annotated[str, Meaning("The least often watched hour of the day, such as 03:00 UTC.")] = ""
    hours: Annotated[float, Meaning("Remembered hours that must all agree to a smaller pool.", unit="hours")] = 0.0
    settled: Annotated[
        bool,
        Meaning(
            "Whether the pool is through its warm-up: since the last start and the last change of its size, and within "
            "the last day, an hour passed in which it was full or no longer filled."
        ),
    ] = False
    may_read: Annotated[float, Meaning("Pages that may be read more, by --may-read.", unit="pages/s")] = 0.0
    value: Annotated[
        float | None,
        Meaning("Smallest innodb_buffer_pool_size with which no remembered hour reads more; today's if none is."),
    ] = None
    freed_bytes: Annotated[float | None, Meaning("Bytes by which the pool would shrink.", unit="bytes")] = None
    unfilled_bytes: Annotated[
        float | None,
        Meaning("Part of freed_bytes that no page has filled: it may not be in use.", unit="bytes"),
    ] = None
    worst_hour: Annotated[str | None, Meaning("Begin of the hour whose reads rise most with the value.")] = None
    reads_now: Annotated[float | None, Meaning("Pages read in the worst hour, as measured.", unit="pages/s")] = None
    reads_expected: Annotated[
        float | None, Meaning("Pages read in the worst hour with the value, by what explains it best.", unit="pages/s")
    ] = None
    reads_most: Annotated[
        float | None, Meaning("Pages read in the worst hour with the value, by all that explains it.", unit="pages/s")
    ] = None
    rise: Annotated[float | None, Meaning("reads_most less reads_now.", unit="pages/s")] = None
    cure: Annotated[str, Meaning("What a memory of days takes.")] = NO_MEMORY
