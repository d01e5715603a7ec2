"""The miss curve of a server, from what was watched of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from advisor.curve.curve import TIMES, Curve, Estimate, Filled, Size
from advisor.curve.evidence import Evidence, evidence, since_full
from advisor.curve.explain import POINTS, UNLIKE, Explanation, Foretold, explanations
from advisor.facts import facts
from advisor.models.steady import List
from advisor.observe.window import Window
from advisor.whatif.errors import Unanswerable, answerable
from advisor.whatif.reads import expected
from exporter.rows import number
from exporter.snapshot import Snapshot

_LEAP = 1.0
"""Nothing lies between two explanations that are further apart, as a logarithm: they are of different regimes."""
_FURTHER = 0.3
"""Where none do: those are taken that are further off than the best by no more than this."""
_HURRIED = 0.8
"""Where bursts may make so many times fewer pages young, as a logarithm (2.2), or more."""
_MODEL, _LEAST = 0.05, 0.01
"""Error of the model, as a share of the reads, and least error, as a share of today's reads (docs/miss-curve.md)."""
TAKEN = 0.02
"""Share of the pool that something else may take: undo logs, the data dictionary, pages that the statistics lack."""
_FILLING_ERROR = 0.05
"""Points of the filling tell explanations apart that differ by more, on average and as a logarithm."""
_SMALLEST = 0.02
"""Share of the data in the pool that a smaller pool keeps at least, whatever the page cleaner keeps free."""
_SPECIAL_ERROR = 0.04
"""Special explanations have to agree better."""
_FILLING_UNLIKE = 0.2
"""If all are further off, the filling tells nothing."""
_LIKELY, _SIMPLEST = 0.1, 3.0
"""Weights in what is expected: of accesses that explain the evidence, and of those by Zipf's law to all pages of each
table. Those between two explanations that make exactly as many pages young as were measured have 1."""


_Reads = tuple[Foretold, ...]
"""For each size."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What is read with each size, by accesses that explain the evidence.

    Attributes:
        first: First reads of each table, which come on top with every size until everything has been read.
        weight: In what is expected; 0 where it counts for the bounds alone.
    """

    reads: _Reads
    first: Mapping[str, float]
    weight: float

    @property
    def all_first(self) -> float:
        """First reads of all tables."""
        return math.fsum(self.first.values())


def curve(
    history: Sequence[Snapshot],
    longest: float,
    times: Sequence[float] = TIMES,
    check_time: Callable[[], None] = lambda: None,
) -> Curve:
    """The reads to expect with pools of other sizes.

    Args:
        history: Snapshots, oldest first, not empty. The newest part without an interruption is the window. The parts
            before it may show how the pool filled.
        longest: Seconds of the window at most.
        times: The sizes, as multiples of today's.
        check_time: Called between two steps; an exception from it ends the work.

    Raises:
        Unanswerable: A section is not known, or nothing explains what was measured.
    """
    window = since_full(Window.of(history, longest))
    today = number(window.latest.setting("innodb_buffer_pool_size"))
    found = explain(evidence(history, window, facts(window)), today, check_time)
    sizes = found.sizes(times)
    return Curve(
        at=window.latest.at,
        seconds=found.evidence.seconds,
        bytes=found.bytes,
        page_bytes=found.evidence.page_bytes,
        reads=found.evidence.reads,
        sizes=sizes,
        first_reads=_first_reads(found.evidence, sizes),
        filled=tuple(_filled(found.evidence)),
        notes=tuple(_notes(found.evidence, found.explanations)),
    )


@dataclass(frozen=True, slots=True)
class Explained:
    """What was watched, and the accesses that explain it.

    Attributes:
        bytes: innodb_buffer_pool_size today.
    """

    evidence: Evidence
    bytes: float
    explanations: Sequence[Explanation]

    @answerable()
    def sizes(self, times: Sequence[float]) -> tuple[Size, ...]:
        """The reads with pools of so many times today's size, ascending, and with today's."""
        every = sorted({1.0, *times})
        lists = [_list(self.evidence, each) for each in every]
        strained = [_list(self.evidence, each, strained=True) for each in every]
        answers = _answers(self.explanations, self.evidence, lists)
        worst = _answers(self.explanations, self.evidence, strained)
        error = _MODEL + min(each.off for each in self.explanations)
        return tuple(_sizes(self.evidence, self.bytes, every, answers, worst, error))


@answerable()
def explain(found: Evidence, today: float | None, check_time: Callable[[], None] = lambda: None) -> Explained:
    """Find the accesses that explain the evidence; ``today`` is innodb_buffer_pool_size.

    Raises:
        Unanswerable: The size is not known, or nothing explains what was measured.
    """
    if today is None:
        raise Unanswerable("variables", "the size of the pool is not known")
    explained = explanations(found.measured, 1.0 - (found.read_again or 0.0), check_time)
    if not explained and found.measured.made_young is None and found.measured.may_stall:
        raise Unanswerable(
            "pool.made_young", "pages leave the old sublist soon, and whether any become young is not known"
        )
    if not explained:
        raise Unanswerable("curve", "no distribution of accesses explains the reads of each table")
    return Explained(found, float(today), explained)


def _list(found: Evidence, times: float, *, strained: bool = False) -> List:
    """The LRU list of a pool of so many times today's size; ``strained`` is one that other pages take their part of."""
    now = found.measured.held
    size = found.size * times
    pages = size * (1 - TAKEN) - found.most_free if strained else size - found.kept_free
    pages = max(pages, _SMALLEST * found.pages)
    if not found.measured.full:
        pages = min(pages, found.pages)
    share = pages / found.pages
    return List(now.young * share, now.old * share, now.old_seconds)


def _answers(explained: Sequence[Explanation], found: Evidence, lists: Sequence[List]) -> list[_Answer]:
    """The reads by all accesses that explain the evidence, and between those that do nearly."""
    kinds: dict[str, list[tuple[float, _Answer]]] = {}
    second: list[tuple[float, _Answer]] = []
    tables = found.measured.tables
    agreeing, shown = _as_it_filled(explained, found)
    for each in agreeing:
        then = [_foretold(each, found, held) for held in lists]
        if all(then):
            weight = _SIMPLEST if each.simplest else _LIKELY
            first = {name: each.once * table.reads if each.first else 0.0 for name, table in tables.items()}
            likeliest, *others = (
                tuple(some[min(n, len(some) - 1)] for some in then) for n in range(max(map(len, then)))
            )
            kinds.setdefault(each.kind, []).append((each.unlike, _Answer(likeliest, first, weight)))
            second += [(each.unlike, _Answer(other, first, 0.0)) for other in others]
    if not kinds:
        raise Unanswerable("curve", "a pool of another size has no steady state with these accesses")
    usual = [each for each in agreeing if not each.special]
    best = min(abs(each.unlike) for each in (agreeing if shown else usual or agreeing))
    most = best + UNLIKE if best <= UNLIKE else best + _FURTHER
    if found.measured.hurried:
        most = max(most, _HURRIED)
    answers = [each for unlike, each in second if abs(unlike) <= most]
    for several in kinds.values():
        crossing = [
            _between(one, other, level)
            for one, other in pairwise(several)
            for level in (-most, 0.0, most)
            if (one[0] - level) * (other[0] - level) < 0 and abs(one[0] - other[0]) <= _LEAP
        ]
        good = sorted((each for each in several if abs(each[0]) <= most), key=lambda each: abs(each[0]))
        if good and not any(each.weight for each in crossing):  # none is exact: the best one counts
            good[0] = good[0][0], replace(good[0][1], weight=max(good[0][1].weight, 1.0))
        answers += [*(each for _, each in good), *crossing]
    return answers


def _as_it_filled(explained: Sequence[Explanation], found: Evidence) -> tuple[Sequence[Explanation], bool]:
    """Those that agree best with what was read while the pool filled, where that was watched; and whether it was."""
    if len(found.measured.filling) < POINTS or found.measured.stalled:
        return _usual(explained), False
    off = [found.measured.off(each) for each in explained]
    if min(off) > _FILLING_UNLIKE:
        return _usual(explained), False  # something else went on while it filled
    allowed = {True: min(off) + _SPECIAL_ERROR, False: min(off) + _FILLING_ERROR}
    agreeing = [each for each, by in zip(explained, off, strict=True) if by <= allowed[each.special]]
    special = any(each.special and abs(each.unlike) <= UNLIKE for each in agreeing)
    return agreeing if special else _usual(agreeing), True


def _usual(explained: Sequence[Explanation]) -> Sequence[Explanation]:
    """Without the special ones, unless only these explain the evidence."""
    usual = [each for each in explained if not each.special]
    return usual if any(abs(each.unlike) <= UNLIKE for each in usual) else explained


def _foretold(each: Explanation, found: Evidence, held: List) -> list[Foretold]:
    """What is read with a list, relative to what is measured today, without first reads; the likelier first."""
    today = found.measured.held
    grown = held.young + held.old - today.young - today.old
    if not found.measured.full and grown >= 0:  # nothing was evicted, and nothing will be
        return [Foretold(dict.fromkeys(found.measured.tables, 0.0), 0.0)]
    now = each.now
    stays = 0.0 if each.first else each.once
    return [
        replace(
            one,
            tables={
                name: expected((1 - each.once) * table.reads, now[name], one.tables[name]) + stays * table.reads
                for name, table in found.measured.tables.items()
            },
        )
        for one in each.foretell(held, found.measured.scans, grown=grown)
    ]


def _between(one: tuple[float, _Answer], other: tuple[float, _Answer], level: float) -> _Answer:
    """The answer between two, where what is made young is ``level`` off."""
    part = (level - one[0]) / (other[0] - one[0])
    reads = tuple(
        Foretold(
            {name: reads + part * (others.tables[name] - reads) for name, reads in some.tables.items()},
            some.scans + part * (others.scans - some.scans),
        )
        for some, others in zip(one[1].reads, other[1].reads, strict=True)
    )
    first = {name: reads + part * (other[1].first[name] - reads) for name, reads in one[1].first.items()}
    return _Answer(reads, first, 0.0 if level else 1.0)


def _sizes(  # noqa: PLR0917 - what is known of each size
    found: Evidence,
    today: float,
    times: Sequence[float],
    answers: Sequence[_Answer],
    worst: Sequence[_Answer],
    error: float,
) -> Iterator[Size]:
    tables = found.measured.tables
    for number_, each in enumerate(times):
        if each == 1.0:
            yield _today(found, today, answers)
            continue
        every = [*answers, *(replace(answer, weight=0.0) for answer in worst)]
        reads = [(answer.reads[number_], answer.weight) for answer in every]
        whole = [sum(some.tables.values()) + some.scans + found.unexplained for some, _ in reads]
        first = [read + answer.all_first for read, answer in zip(whole, every, strict=True)]
        weights = [answer.weight for answer in every]
        again = _estimate(list(zip(whole, weights, strict=True)), found.reads, error)
        if each > 1.0:  # a larger pool may keep those pages too
            again = replace(again, low=max(0.0, again.low - found.unexplained))
        yield Size(
            each,
            today * each,
            again,
            replace(_estimate(list(zip(first, weights, strict=True)), found.reads, error), low=again.low),
            _estimate([(some.scans, weight) for some, weight in reads], 0.0, error).expected,
            {
                name: _estimate([(some.tables[name], weight) for some, weight in reads], table.reads, error)
                for name, table in tables.items()
            },
        )


def _today(found: Evidence, today: float, answers: Sequence[_Answer]) -> Size:
    """Today's size, with what is measured: only how much of it is read for the first time is not."""

    def without(reads: float, first: Estimate) -> Estimate:
        return Estimate(*(max(0.0, reads - each) for each in (first.expected, first.high, first.low)))

    tables = {
        name: without(table.reads, _weighed([(answer.first[name], answer.weight) for answer in answers]))
        for name, table in found.measured.tables.items()
    }
    scans = sum(scan.read / scan.period for scan in found.measured.scans)
    first = _weighed([(answer.all_first, answer.weight) for answer in answers])
    exact = Estimate(found.reads, found.reads, found.reads)
    return Size(1.0, today, without(found.reads, first), exact, scans, tables)


def _first_reads(found: Evidence, sizes: Sequence[Size]) -> Estimate:
    today = next(each.reads for each in sizes if each.times == 1.0)
    return Estimate(*(found.reads - each for each in (today.expected, today.high, today.low)))


def _estimate(reads: Sequence[tuple[float, float]], today: float, error: float) -> Estimate:
    found = _weighed(reads)
    low, high = (1 - error) * found.low - _LEAST * today, (1 + error) * found.high + _LEAST * today
    return Estimate(found.expected, max(0.0, low), high)


def _weighed(reads: Sequence[tuple[float, float]]) -> Estimate:
    """The mean by weights, and the ends."""
    weighed = [each for each in reads if each[1]] or [(each, 1.0) for each, _ in reads]
    mean = sum(each * weight for each, weight in weighed) / sum(weight for _, weight in weighed)
    return Estimate(mean, min(each for each, _ in reads), max(each for each, _ in reads))


def _filled(found: Evidence) -> Iterator[Filled]:
    accesses = sum(table.accesses for table in found.measured.tables.values())
    for pages, read in found.measured.filling:
        yield Filled(pages * found.page_bytes, read * accesses)


def _tables(count: int) -> str:
    return "one table" if count == 1 else f"{count} tables"


def _notes(found: Evidence, explained: Sequence[Explanation]) -> Iterator[str]:
    young = found.measured.made_young
    made_young = " a second; how many of them were made young is not known"
    if young is not None:
        made_young = f" and {young:,.1f} made young a second"
    yield (
        f"{found.seconds:,.0f} s of lookups in {_tables(len(found.measured.tables))} were watched:"
        f" {found.reads:,.1f} pages read{made_young}"
    )
    if found.measured.filling:
        yield f"the pool was seen while it filled: {len(found.measured.filling)} points of the curve were measured"
    if min(abs(each.unlike) for each in explained) > UNLIKE:
        yield "no distribution of independent accesses makes as many pages young as were measured: the bounds are wide"
    if found.unexplained > _LEAST * found.reads:
        yield f"{found.unexplained:,.1f} of the pages read a second are of no table: a larger pool may read these too"
