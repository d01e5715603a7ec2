"""Facts that no window holds: from the ledger, from the memory of days, and from the models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from advisor.contract.settings import SettingValue
from advisor.facts.base import fact, maybe

NO_MEMORY = "run `serve --state-dir DIR` for three days"


@dataclass(frozen=True, slots=True)
class HarmFacts:
    """A change of a setting, or of several at once, that is still in force, and what got worse after it."""

    setting: str = fact("Setting that was changed; several that were changed at once, with commas.")
    changed: str = fact("The change in words, such as innodb_old_blocks_pct from 37 to 95; with a semicolon each.")
    changed_at: str = fact("When the change was first seen.")
    seconds: float = fact("Time since then.", unit="seconds")
    advised: bool = fact("Whether the change followed a finding.")
    rules: str = fact("Rules whose findings asked for the setting, with commas; empty where none did.")
    quantity: str = fact("What got worse most clearly, with the table that it is of.")
    unit: str = fact("Its unit.")
    before: float = fact("It before the change.")
    after: float = fact("It after the change, by the same work.")
    noise: float = fact("What chance may make of the difference.")
    count: float = fact("Quantities that got worse.", unit="quantities")
    worse: str = fact("All that got worse, in words, the clearest first.")
    can_be_taken_back: bool = fact("Whether the server can have all of the earlier values again.")
    refusal: str = fact("Why it cannot; empty where it can.")
    take_back: Mapping[str, SettingValue] = field(default_factory=dict)
    """The values to go back to, by setting."""

    @property
    def subject(self) -> dict[str, str]:
        """The subject of a finding."""
        return {"setting": self.setting}


@dataclass(frozen=True, slots=True)
class SpareFacts:
    """Memory of the buffer pool that could go, by the reads of each hour of the last days."""

    kept: bool = fact("Whether the miss curve of each hour is remembered (`serve --state-dir`).", default=False)
    days: float = fact(
        "Days on which the least often watched hour of the day was watched, with today's settings and outside of "
        "any warm-up.",
        unit="days",
        default=0.0,
    )
    least_watched: str = fact("The least often watched hour of the day, such as 03:00 UTC.", default="")
    hours: float = fact("Remembered hours that must all agree to a smaller pool.", unit="hours", default=0.0)
    settled: bool = fact(
        "Whether the pool is through its warm-up: since the last start and the last change of its size, and within "
        "the last day, an hour passed in which it was full or no longer filled.",
        default=False,
    )
    may_read: float = fact("Pages that may be read more, by --may-read.", unit="pages/s", default=0.0)
    value: float | None = maybe(
        "Smallest innodb_buffer_pool_size with which no remembered hour reads more; today's if none is."
    )
    freed_bytes: float | None = maybe("Bytes by which the pool would shrink.", unit="bytes")
    unfilled_bytes: float | None = maybe(
        "Part of freed_bytes that no page has filled: it may not be in use.", unit="bytes"
    )
    worst_hour: str | None = maybe("Begin of the hour whose reads rise most with the value.")
    reads_now: float | None = maybe("Pages read in the worst hour, as measured.", unit="pages/s")
    reads_expected: float | None = maybe(
        "Pages read in the worst hour with the value, by what explains it best.", unit="pages/s"
    )
    reads_most: float | None = maybe(
        "Pages read in the worst hour with the value, by all that explains it.", unit="pages/s"
    )
    rise: float | None = maybe("reads_most less reads_now.", unit="pages/s")
    cure: str = fact("What a memory of days takes.", default=NO_MEMORY)


@dataclass(frozen=True, slots=True)
class Choice:
    """A value for a setting: the smallest change among the values with the fewest reads, the hot set's included."""

    value: float = fact("Chosen value of the setting; today's where no other one helps.")
    now: float | None = fact(
        "Pages read by the last pass over the table, as measured; not known in a choice for the server.", unit="pages"
    )
    predicted: float | None = fact(
        "Pages read per pass over the table with the value: what was measured, changed as the model changes; not "
        "known in a choice for the server.",
        unit="pages",
    )
    model_now: float | None = fact(
        "Pages read per pass over the table by the model at today's settings; not known in a choice for the server.",
        unit="pages",
    )
    predicted_by_pct: float | None = fact(
        "Pages read per pass over the table with the best innodb_old_blocks_pct, which takes no memory; not known "
        "in a choice of another setting than innodb_buffer_pool_size, or for the server.",
        unit="pages",
    )
    read_now: float = fact("Pages read by everything today, as measured.", unit="pages/s")
    read_predicted: float = fact(
        "Pages read by everything with the value: what was measured, changed as the model changes.", unit="pages/s"
    )
    read_most: float = fact(
        "Pages read by everything with the value, at worst: by all accesses that explain what was measured, and "
        "with larger tables.",
        unit="pages/s",
    )
    model_read_now: float = fact("Pages read by everything by the model at today's settings.", unit="pages/s")
    cost_now: float = fact("Pages in the pool that the scanned tables leave to the hot set today.", unit="pages")
    cost_predicted: float = fact(
        "Pages in the pool that the scanned tables leave to the hot set with the value.", unit="pages"
    )
    saved: float = fact("Pages that everything reads less than today.", unit="pages/s")
    error: float = fact(
        "Error of `predicted`, relative to `now`; of `read_predicted`, relative to `read_now`, in a choice for "
        "the server.",
        unit="ratio",
    )
    read_error: float = fact("Error of `read_predicted`, relative to `read_now`.", unit="ratio")
    confidence: float = fact("1, or less where the error is above 15 %.", unit="0 to 1")
