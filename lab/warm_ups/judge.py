"""Reads that a warm-up foretells against those of pools really made so small."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from advisor.fleet.capacity import ERRORS, WARM_UPS, Pool
from advisor.fleet.warm_ups import WarmUp, warm_ups
from lab.harness.records import Data
from lab.warm_ups.measure import OPTIONS, POOL, mebibytes

EVERY = (1, 3, 10)
"""Points that are left: each, each third, each tenth, as of longer scrape intervals or smaller pools."""
_MIB = 2.0**20
_PAGE_BYTES = 16_384.0
_HELD = 0.9
"""The least share of cases whose measured reads are at most what was foretold as the most."""


@dataclass(frozen=True)
class Case:
    """A smaller pool, with pages read a lookup.

    Attributes:
        source: `own` or `peer`, by a Prometheus; `recording`, by the sampler.
        every: Which points the prediction rests on.
        share: The pool, as a share of the data.
        measured, expected, most: Pages read a lookup.
    """

    server: str
    load: str
    source: str
    every: int
    share: float
    measured: float
    expected: float
    most: float

    @property
    def error(self) -> float:
        """Of what is expected, as a share of what was measured."""
        return self.expected / self.measured - 1.0

    @property
    def held(self) -> bool:
        """Whether no more was read than the most that was foretold."""
        return self.measured <= self.most


@dataclass(frozen=True)
class Verdict:
    """Of several cases.

    Attributes:
        cases: Their number.
        held: Those in which no more was read than foretold at most.
        median, tenth: The median error, and the error that a tenth of the cases exceeds; without their signs.
        least, worst: The errors furthest below and above.
    """

    cases: int
    held: int
    median: float
    tenth: float
    least: float
    worst: float


def cases(server: str, load: str, data: Data) -> Iterator[Case]:
    """The cases of a load: each exporter, each thinning, each pool that the warm-up came through."""
    for exporter, rows in data["filling"].items():
        for every in EVERY:
            found = warm_up(rows[::every], mariadb=server.startswith("mariadb"))
            for share, measured in data["measured"].items():
                # The server's own pages are in the pool before anything is asked for. Pools a thousand times as large
                # would not notice them; of these here they are a part, and none that a smaller pool would keep.
                pages = pool().holds(mebibytes(float(share)) * _MIB) + rows[0][1]
                if found is not None and found.knows(pages):
                    expected, most = (each * data["accesses"] for each in (found.expected(pages), found.most(pages)))
                    yield Case(server, load, exporter, every, float(share), measured, expected, most)


def warm_up(rows: Sequence[Sequence[float]], *, mariadb: bool) -> WarmUp | None:
    """The warm-up of recorded points."""
    pages, read, gets = ({row[0]: row[column] for row in rows} for column in (1, 2, 3))
    found = warm_ups(pages, read, gets, pool_pages=pool().pages, mariadb=mariadb)
    return found[0] if found else None


def verdict(judged: Iterable[Case]) -> Verdict:
    """The verdict of at least one case."""
    some = list(judged)
    errors = sorted(abs(each.error) for each in some)
    return Verdict(
        len(some),
        sum(each.held for each in some),
        statistics.median(errors),
        errors[min(len(errors) - 1, int(0.9 * len(errors)))],
        min(each.error for each in some),
        max(each.error for each in some),
    )


def broken(judged: Sequence[Case]) -> Iterator[str]:
    """The bounds that the cases break."""
    found = verdict(judged)
    if found.tenth > ERRORS[WARM_UPS]:
        yield f"a tenth of the predictions is off by more than {found.tenth:.1%}, not {ERRORS[WARM_UPS]:.0%}"
    yield from too_little(judged)


def too_little(judged: Sequence[Case]) -> Iterator[str]:
    """What is said where too many pools read more than was foretold as the most."""
    found = verdict(judged)
    if found.held < _HELD * found.cases:
        yield f"{found.held} of {found.cases} pools read no more than foretold at most, not {_HELD:.0%}"


def pool(mebibytes_: int = POOL) -> Pool:
    """The pool that warms up, or a smaller one."""
    return Pool(mebibytes_ * _MIB, _PAGE_BYTES, float(OPTIONS["innodb-lru-scan-depth"]), 0.0, 0.0)
