"""What the model of the LRU list is asked about: a buffer pool, and what happens to it, step by step.

The same shapes are the file that ``innodb-advisor lru`` reads and the arguments of the model. Lengths are pages, times
seconds unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

Fetch = Literal["normal", "scan"]
"""How a scan fetches its pages: the row path, or Page_fetch::SCAN, which MySQL's parallel readers use."""


MOST_PAGES = 2**40
MOST_PASSES = 100_000
"""Of a scenario: what it says of each has to be kept."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Pool(_Part):
    """A buffer pool and the settings that its LRU lists obey.

    The page cleaner refills the free list of an instance up to ``free_high``: once it is shorter than ``free_low``
    (MariaDB: half of innodb_lru_scan_depth, and all of it), or every ``refill_seconds`` (MySQL while something is
    written: 1). With 0 each read evicts the page it needs room for.
    """

    pages: int = Field(gt=0, le=MOST_PAGES)
    instances: int = Field(1, gt=0, le=64)
    old_blocks_pct: int = Field(37, ge=5, le=95)
    old_blocks_time_ms: float = Field(1000.0, ge=0, le=2**32 - 1)
    free_low: int = Field(0, ge=0)
    free_high: int = Field(0, ge=0)
    refill_seconds: float = Field(0.0, ge=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.free_low and self.refill_seconds:
            raise ValueError(f"free_low ({self.free_low}) beside refill_seconds ({self.refill_seconds:g})")
        if self.free_low > self.free_high:
            raise ValueError(f"free_low ({self.free_low}) is above free_high ({self.free_high})")
        if self.free_high * self.instances >= self.pages:
            raise ValueError(f"free_high ({self.free_high}) in each of {self.instances} instances is the whole pool")
        if self.pages < self.instances:
            raise ValueError(f"{self.pages} pages are not enough for {self.instances} instances")
        return self

    def changed(self, settings: Settings) -> Pool:
        """The pool after SET GLOBAL."""
        return Pool.model_validate(self.model_dump() | settings.model_dump(exclude_none=True))


class Scan(_Part):
    """Full scans of an object in page order; ``gap_seconds`` pass after each."""

    scan: str = Field(min_length=1)
    pages: int = Field(gt=0, le=MOST_PAGES)
    passes: int = Field(1, gt=0, le=10_000)
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    gap_seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    fetch: Fetch = "normal"


class Points(_Part):
    """Single page accesses spread evenly over ``seconds``; the page of rank r is chosen with weight r ** -skew."""

    points: str = Field(min_length=1)
    pages: int = Field(gt=0, le=MOST_PAGES)
    accesses: int = Field(gt=0, le=10**15)
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    skew: float = Field(0.0, ge=0, le=10)
    seed: int = 1


class Settings(_Part):
    """Settings that change; None stays as it is."""

    old_blocks_pct: int | None = Field(None, ge=5, le=95)
    old_blocks_time_ms: float | None = Field(None, ge=0, le=2**32 - 1)
    free_low: int | None = Field(None, ge=0)
    free_high: int | None = Field(None, ge=0)


class Set(_Part):
    """SET GLOBAL while the server runs."""

    set: Settings


class Repeat(_Part):
    """Steps that are done so many times."""

    repeat: int = Field(gt=0, le=10_000)
    steps: tuple[Step, ...] = Field(min_length=1, strict=False)


def _kind(step: Any) -> str | None:
    """Which step it is, by the key that names it."""
    if isinstance(step, BaseModel):
        return type(step).__name__.lower()
    return next((key for key in ("scan", "points", "set", "repeat") if isinstance(step, dict) and key in step), None)


Step = Annotated[
    Annotated[Scan, Tag("scan")]
    | Annotated[Points, Tag("points")]
    | Annotated[Set, Tag("set")]
    | Annotated[Repeat, Tag("repeat")],
    Discriminator(_kind, custom_error_type="step", custom_error_message="a step has one of scan, points, set, repeat"),
]


class Scenario(_Part):
    """A pool, empty at first, and the steps done to it in turn.

    An object has one size, that of the step that names it with the most pages.
    """

    pool: Pool
    steps: tuple[Step, ...] = Field(min_length=1, strict=False)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        passes = _passes(self.steps)
        if passes > MOST_PASSES:
            raise ValueError(f"{passes:,} passes are too many: {MOST_PASSES:,} at most")
        return self

    def flat(self) -> Iterator[Scan | Points | Set]:
        """The steps in the order in which they happen, repeats written out."""
        return _flat(self.steps, once=False)

    def distinct(self) -> Iterator[Scan | Points | Set]:
        """The steps as they are written, each once."""
        return _flat(self.steps, once=True)

    def sizes(self) -> dict[str, int]:
        """Pages of each object."""
        sizes: dict[str, int] = {}
        for step in self.distinct():
            if not isinstance(step, Set):
                name = step.scan if isinstance(step, Scan) else step.points
                sizes[name] = max(sizes.get(name, 0), step.pages)
        return sizes


def _passes(steps: tuple[Step, ...]) -> int:
    """Passes of scans and steps of points, repeats written out."""
    found = 0
    for step in steps:
        if isinstance(step, Repeat):
            found += step.repeat * _passes(step.steps)
        else:
            found += step.passes if isinstance(step, Scan) else 1
    return found


def _flat(steps: tuple[Step, ...], *, once: bool) -> Iterator[Scan | Points | Set]:
    for step in steps:
        if isinstance(step, Repeat):
            for _ in range(1 if once else step.repeat):
                yield from _flat(step.steps, once=once)
        else:
            yield step


class Pass(NamedTuple):
    """What one pass of a scan, or one step of points, did, and how the pool looks after it.

    Attributes:
        step: Which step of the scenario in the order they happened, from 1.
        object: What was scanned or looked up.
        number: Which pass of the step, from 1.
        pages_read: Pages read from disk, read-ahead included.
        made_young: Pages moved from the old sublist to the head of the list.
        not_made_young: Pages found in the old sublist, and left there because innodb_old_blocks_time was not over.
        young_pages, old_pages, free_pages: At the end, all instances together.
    """

    step: int
    object: str
    number: int
    pages_read: float
    made_young: float
    not_made_young: float
    young_pages: float
    old_pages: float
    free_pages: float


Repeat.model_rebuild()
