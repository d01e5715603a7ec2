"""The choice of a model, as names for expressions. It needs no model, so that rules are checked without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from advisor.facts.base import Meaning, vocabulary

Chooser = Literal["lru", "curve"]
"""Models that choose a value: that of the LRU list, and the miss curve for the size of the pool."""
ChosenSetting = Literal["innodb_old_blocks_pct", "innodb_old_blocks_time", "innodb_buffer_pool_size"]
"""Settings that a model chooses a value for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value for a setting: the smallest change among the values with the fewest reads, the hot set's included."""

    value: Annotated[float, Meaning("Chosen value of the setting; today's where no other one helps.")]
    now: Annotated[
        float | None,
        Meaning(
            "Pages read by the last pass over the table, as measured; not known in a choice for the server.",
            unit="pages",
        ),
    ]
    predicted: Annotated[
        float | None,
        Meaning(
            "Pages read per pass over the table with the value: what was measured, changed as the model changes; not "
            "known in a choice for the server.",
            unit="pages",
        ),
    ]
    model_now: Annotated[
        float | None,
        Meaning(
            "Pages read per pass over the table by the model at today's settings; not known in a choice for the "
            "server.",
            unit="pages",
        ),
    ]
    predicted_by_pct: Annotated[
        float | None,
        Meaning(
            "Pages read per pass over the table with the best innodb_old_blocks_pct, which takes no memory; not known "
            "in a choice of another setting than innodb_buffer_pool_size, or for the server.",
            unit="pages",
        ),
    ]
    read_now: Annotated[float, Meaning("Pages read by everything today, as measured.", unit="pages/s")]
    read_predicted: Annotated[
        float,
        Meaning(
            "Pages read by everything with the value: what was measured, changed as the model changes.", unit="pages/s"
        ),
    ]
    read_most: Annotated[
        float,
        Meaning(
            "Pages read by everything with the value, at worst: by all accesses that explain what was measured, and "
            "with larger tables.",
            unit="pages/s",
        ),
    ]
    model_read_now: Annotated[
        float, Meaning("Pages read by everything by the model at today's settings.", unit="pages/s")
    ]
    cost_now: Annotated[
        float, Meaning("Pages in the pool that the scanned tables leave to the hot set today.", unit="pages")
    ]
    cost_predicted: Annotated[
        float, Meaning("Pages in the pool that the scanned tables leave to the hot set with the value.", unit="pages")
    ]
    saved: Annotated[float, Meaning("Pages that everything reads less than today.", unit="pages/s")]
    error: Annotated[
        float,
        Meaning(
            "Error of `predicted`, relative to `now`; of `read_predicted`, relative to `read_now`, in a choice for "
            "the server.",
            unit="ratio",
        ),
    ]
    read_error: Annotated[float, Meaning("Error of `read_predicted`, relative to `read_now`.", unit="ratio")]
    confidence: Annotated[float, Meaning("1, or less where the error is above 15 %.", unit="0 to 1")]


GROUP = "choice"
VOCABULARY = vocabulary(GROUP, Choice)
"""The names that a choice gives to expressions."""
