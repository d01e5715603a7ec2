"""A scenario of the LRU model: a buffer pool, and steps that happen to it.

The file that ``innodb-advisor lru`` reads and the arguments of the model have these shapes. Lengths are pages, times
seconds unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

Fetch = Literal["normal", "scan"]
"""How a scan fetches its pages: by the row path, or by Page_fetch::SCAN as MySQL's parallel readers do."""
MOST_PAGES = 2**40
MOST_ACCESSES = 10**15
MOST_PASSES = 100_000
"""Most passes of a scenario: the result of each is kept."""


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Pool(_Shape):
    """A buffer pool and the settings of its LRU lists.

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


class Scan(_Shape):
    """Full scans of an object in page order; ``gap_seconds`` pass after each."""

    scan: str = Field(min_length=1)
    pages: int = Field(gt=0, le=MOST_PAGES)
    passes: int = Field(1, gt=0, le=10_000)
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    gap_seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    fetch: Fetch = "normal"


class Points(_Shape):
    """Single page accesses spread evenly over ``seconds``; the page of rank r is chosen with weight r ** -skew."""

    points: str = Field(min_length=1)
    pages: int = Field(gt=0, le=MOST_PAGES)
    accesses: int = Field(gt=0, le=MOST_ACCESSES)
    seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    skew: float = Field(0.0, ge=0, le=10)
    seed: int = 1


class Settings(_Shape):
    """Settings to change; None keeps the value."""

    old_blocks_pct: int | None = Field(None, ge=5, le=95)
    old_blocks_time_ms: float | None = Field(None, ge=0, le=2**32 - 1)
    free_low: int | None = Field(None, ge=0)
    free_high: int | None = Field(None, ge=0)


class Set(_Shape):
    """SET GLOBAL while the server runs."""

    set: Settings


class Repeat(_Shape):
    """Steps that are repeated."""

    repeat: int = Field(gt=0, le=10_000)
    steps: tuple[Step, ...] = Field(min_length=1, strict=False)


def _kind(step: Any) -> str | None:
    """The kind of a step, by the key that names it."""
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


class Scenario(_Shape):
    """An empty pool and the steps that follow.

    An object has one size: the largest that a step gives it.
    """

    pool: Pool
    steps: tuple[Step, ...] = Field(min_length=1, strict=False)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.passes > MOST_PASSES:
            raise ValueError(f"{self.passes:,} passes are too many: {MOST_PASSES:,} at most")
        return self

    @property
    def passes(self) -> int:
        """The number of passes of scans and of steps of points, with repeats written out."""
        return _passes(self.steps)

    def flat(self) -> Iterator[Scan | Points | Set]:
        """The steps in their order, with repeats written out."""
        return _flat(self.steps, once=False)

    def distinct(self) -> Iterator[Scan | Points | Set]:
        """Each step once, as written."""
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
    passes = 0
    for step in steps:
        match step:
            case Repeat():
                passes += step.repeat * _passes(step.steps)
            case Scan():
                passes += step.passes
            case Points():
                passes += 1
    return passes


def _flat(steps: tuple[Step, ...], *, once: bool) -> Iterator[Scan | Points | Set]:
    for step in steps:
        if isinstance(step, Repeat):
            for _ in range(1 if once else step.repeat):
                yield from _flat(step.steps, once=once)
        else:
            yield step


class Pass(NamedTuple):
    """The result of one pass of a scan or of one step of points, and the pool after it.

    Attributes:
        step: Number of the step in the order of the scenario, from 1.
        object: Name of the scanned or looked-up object.
        number: Number of the pass within the step, from 1.
        pages_read: Pages read from disk, read-ahead included.
        made_young: Pages moved from the old sublist to the head of the list.
        not_made_young: Pages that stayed in the old sublist because innodb_old_blocks_time was not over.
        young_pages, old_pages, free_pages: In all instances together, at the end.
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
