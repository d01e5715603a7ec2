"""The miss curve of a server, from what was watched of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from advisor.curve.curve import TIMES, Curve, Estimate, Filled, Size
from advisor.curve.evidence import Evidence, evidence
from advisor.curve.explain import Explanation, explanations
from advisor.facts import facts
from advisor.models.steady import Burst, List, filled
from advisor.observe.window import Window
from advisor.whatif.calibrations import Calibrations
from advisor.whatif.errors import Unanswerable
from advisor.whatif.model import LruModel
from advisor.whatif.reads import expected
from advisor.whatif.settings import size_as_set
from exporter.rows import number
from exporter.snapshot import Snapshot

UNLIKE = 0.15
"""Accesses explain the pages made young if these are no further off, as a logarithm."""
_FURTHER = 0.3
"""Where none do: those are taken that are further off by no more than this."""
_MODEL, _LEAST = 0.05, 0.01
"""Error of the model, as a share of the reads, and least error, as a share of today's reads (docs/miss-curve.md)."""
_FILLING_ERROR = 0.05
"""Points of the filling tell explanations apart that differ by more, on average and as a logarithm."""
_POINTS = 4
"""Fewer points of the filling tell nothing."""
_SMALLEST = 0.02
"""Share of the data in the pool that a smaller pool keeps at least, whatever the page cleaner keeps free."""
_SIMPLEST = 3.0
"""Weight of accesses by Zipf's law to all pages of each table, where these explain the evidence too."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """Reads a second of each table, for each size, by accesses that explain the evidence.

    Attributes:
        weight: In what is expected; 0 where it counts for the bounds alone.
    """

    reads: tuple[Mapping[str, float], ...]
    weight: float


def curve(
    history: Sequence[Snapshot],
    longest: float,
    times: Sequence[float] = TIMES,
    check_time: Callable[[], None] = lambda: None,
    calibrations: Calibrations | None = None,
) -> Curve:
    """The reads to expect with pools of other sizes.

    Args:
        history: Snapshots, oldest first, not empty. The newest part without an interruption is the window. The parts
            before it may show how the pool filled.
        longest: Seconds of the window at most.
        times: The sizes, as multiples of today's.
        check_time: Called between two steps; an exception from it ends the work.
        calibrations: Those of earlier windows, for the model of the scans.

    Raises:
        Unanswerable: A section is not known, or nothing explains what was measured.
    """
    window = Window.of(history, longest)
    known = facts(window)
    found = evidence(history, window, known)
    today = number(window.latest.setting("innodb_buffer_pool_size"))
    if today is None:
        raise Unanswerable("variables", "the size of the pool is not known")
    sizes = sorted({1.0, *times})
    model = LruModel(window, known, calibrations)
    lists = [_list(found, model, window, today, times_) for times_ in sizes]
    explained = explanations(found.measured, check_time)
    if not explained:
        raise Unanswerable("curve", "no distribution of accesses explains the reads of each table")
    answers = _answers(explained, found, lists)
    return Curve(
        at=window.latest.at,
        seconds=found.seconds,
        bytes=float(today),
        page_bytes=found.page_bytes,
        reads=found.reads,
        sizes=tuple(_sizes(found, today, sizes, lists, answers)),
        filled=tuple(_filled(found)),
        notes=tuple(_notes(found, explained)),
    )


@dataclass(frozen=True, slots=True)
class _Pool:
    """What scans leave of a pool of some size.

    Attributes:
        held: The list that is left to lookups.
        scans: That read pages.
        read: Pages read a second by scans.
    """

    held: List
    scans: tuple[Burst, ...]
    read: float


def _list(found: Evidence, model: LruModel, window: Window, today: float, times: float) -> _Pool:
    """The pool of so many times today's size: the model of the scans says what they read and hold."""
    now = found.measured.held
    bursts, held, read = (
        found.measured.scans,
        found.held,
        sum(scan.pages / scan.period for scan in found.measured.scans),
    )
    if times != 1.0 and found.held:
        reads = model.reads({"innodb_buffer_pool_size": size_as_set(window, today * times)})
        scans = model.calibration.scans
        rates = model.calibration.fit.workload.scans_per_second
        bursts = tuple(Burst(pages, 1.0 / rates[name]) for name, pages in reads.per_pass.items() if pages)
        held = {name: max(0.0, (scans[name].pages or 0.0) - pages) for name, pages in reads.per_pass.items()}
        read = reads.scans
    pages = max(found.size * times - (found.size - found.pages), _SMALLEST * found.pages)
    old = now.old * pages / found.pages
    return _Pool(List(max(pages - old - sum(held.values()), pages / 4), old, now.old_seconds), bursts, read)


def _answers(explained: Sequence[Explanation], found: Evidence, pools: Sequence[_Pool]) -> list[_Answer]:
    """The reads of each table by all accesses that explain the evidence, and between those that do nearly."""
    kinds: dict[str, list[tuple[Explanation, tuple[Mapping[str, float], ...]]]] = {}
    for each in _as_it_filled(explained, found):
        then = [some for pool in pools if (some := _reads(each, found, pool)) is not None]
        if len(then) == len(pools):
            kinds.setdefault(each.kind, []).append((each, tuple(then)))
    if not kinds:
        raise Unanswerable("curve", "a pool of another size has no steady state with these accesses")
    best = min(abs(each.unlike) for several in kinds.values() for each, _ in several)
    most = UNLIKE if best <= UNLIKE else best + _FURTHER
    answers = []
    for several in kinds.values():
        for each, reads in several:
            if abs(each.unlike) <= most:
                answers.append(_Answer(reads, _SIMPLEST if each.simplest else float(abs(each.unlike) == best)))
        for (one, its), (other, others) in pairwise(several):
            for level in (-most, 0.0, most):
                if (one.unlike - level) * (other.unlike - level) < 0:
                    part = (level - one.unlike) / (other.unlike - one.unlike)
                    answers.append(_Answer(_between(its, others, part), float(level == 0.0)))
    return answers


def _as_it_filled(explained: Sequence[Explanation], found: Evidence) -> Sequence[Explanation]:
    """Those that agree best with what was read while the pool filled, where that was watched."""
    if len(found.filling) < _POINTS:
        return explained
    off = [_off(each, found) for each in explained]
    return [each for each, error in zip(explained, off, strict=True) if error <= min(off) + _FILLING_ERROR]


def _off(each: Explanation, found: Evidence) -> float:
    """How far the points of the filling are off, as the root of the mean square of logarithms."""
    groups = [group for some in each.groups.values() for group in some]
    accesses = sum(table.accesses for table in found.measured.tables.values())
    squares = [
        math.log(max(filled(groups, pages) / accesses, _LEAST) / max(read, _LEAST)) ** 2
        for pages, read in found.filling
    ]
    return math.sqrt(sum(squares) / len(squares))


def _reads(each: Explanation, found: Evidence, pool: _Pool) -> Mapping[str, float] | None:
    then = each.reads(pool.held, pool.scans)
    if then is None:
        return None
    now = each.now
    return {name: expected(table.reads, now[name], then[name]) for name, table in found.measured.tables.items()}


def _between(
    one: Sequence[Mapping[str, float]], other: Sequence[Mapping[str, float]], part: float
) -> tuple[Mapping[str, float], ...]:
    return tuple(
        {name: reads + part * (others[name] - reads) for name, reads in some.items()}
        for some, others in zip(one, other, strict=True)
    )


def _sizes(
    found: Evidence, today: float, times: Sequence[float], pools: Sequence[_Pool], answers: Sequence[_Answer]
) -> Iterator[Size]:
    tables = found.measured.tables
    for number_, (each, pool) in enumerate(zip(times, pools, strict=True)):
        if each == 1.0:
            exact = {name: Estimate(table.reads, table.reads, table.reads) for name, table in tables.items()}
            yield Size(each, today, Estimate(found.reads, found.reads, found.reads), pool.read, exact)
            continue
        rest = pool.read + found.unexplained
        reads = [(answer.reads[number_], answer.weight) for answer in answers]
        all_ = _estimate([(sum(some.values()) + rest, weight) for some, weight in reads], found.reads)
        yield Size(
            each,
            today * each,
            all_,
            pool.read,
            {
                name: _estimate([(some[name], weight) for some, weight in reads], table.reads)
                for name, table in tables.items()
            },
        )


def _estimate(reads: Sequence[tuple[float, float]], today: float) -> Estimate:
    weighed = [each for each in reads if each[1]] or [(each, 1.0) for each, _ in reads]
    expected_ = sum(each * weight for each, weight in weighed) / sum(weight for _, weight in weighed)
    low, high = min(each for each, _ in reads), max(each for each, _ in reads)
    return Estimate(expected_, max(0.0, (1 - _MODEL) * low - _LEAST * today), (1 + _MODEL) * high + _LEAST * today)


def _filled(found: Evidence) -> Iterator[Filled]:
    accesses = sum(table.accesses for table in found.measured.tables.values())
    for pages, read in found.filling:
        yield Filled(pages * found.page_bytes, read * accesses)


def _notes(found: Evidence, explained: Sequence[Explanation]) -> Iterator[str]:
    yield (
        f"{found.seconds:,.0f} s were watched: {found.reads:,.1f} pages read and {found.measured.made_young:,.1f} made"
        f" young a second, in {len(found.measured.tables)} tables that are looked up"
    )
    if found.filling:
        yield f"the pool was seen while it filled: {len(found.filling)} points of the curve were measured"
    if min(abs(each.unlike) for each in explained) > UNLIKE:
        yield "no distribution of independent accesses makes as many pages young as were measured: the bounds are wide"
    if found.unexplained > _LEAST * found.reads:
        yield f"{found.unexplained:,.1f} of the pages read a second are of no table: they stay in every size"
