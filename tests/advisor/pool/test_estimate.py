"""The laws of the miss curve, on evidence of every kind: what no distribution of accesses can break."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from advisor.facts import ScanFacts
from advisor.models.lru.popularity import Pages
from advisor.models.lru.scenario import Pool
from advisor.models.lru.workload import TableScan, Workload
from advisor.pool.curve import ExpectedReads, PoolSize
from advisor.pool.estimate import SizeModel
from advisor.pool.evidence import PoolEvidence
from advisor.pool.fitting import Loads
from advisor.pool.load import TableReads
from advisor.pool.scanned import ScannedPool
from advisor.pool.settings import POOL_SIZE
from advisor.pool.steady import Sublists, settle, stays
from tests.advisor.building import server

TIMES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 100.0)
FEW_TIMES = (0.75, 1.5, 100.0)
"""Sizes beside scans, where each of them takes some simulations."""
BYTES = 2.0**30


def scanned_of(held: Sublists, workload: Workload, per_pass: dict[str, float]) -> ScannedPool:
    pages = held.young + held.old
    pct = min(max(round(100 * held.old / pages), 5), 95)
    milliseconds = 1000 * held.old_seconds
    return ScannedPool(
        server=server(),
        settings={POOL_SIZE: BYTES, "innodb_old_blocks_pct": pct, "innodb_old_blocks_time": milliseconds},
        pool=Pool(pages=round(pages), old_blocks_pct=pct, old_blocks_time_ms=milliseconds),
        reserved=0,
        scans={name: ScanFacts("shop", name.removeprefix("shop.")) for name in per_pass},
        left_out=(),
        workload=workload,
        per_pass=per_pass,
    )


def evidence_of(
    tables: dict[str, TableReads], young: float, old: float, made_young: float, *, old_seconds: float = 1.0
) -> PoolEvidence:
    reads = math.fsum(table.reads for table in tables.values())
    held = Sublists(young, old, old_seconds)
    return PoolEvidence(
        seconds=300.0,
        page_bytes=16_384.0,
        pool_bytes=BYTES,
        size=young + old,
        full=True,
        kept_free=0.0,
        most_free=0.0,
        held=held,
        tables=tables,
        resting={},
        scanned=scanned_of(held, Workload((), round(young + old)), {}),
        made_young=made_young,
        reads=reads,
        unexplained=0.0,
        accesses=10.0 * reads,
        filling=(),
    )


def model_of(evidence: PoolEvidence) -> SizeModel:
    return SizeModel(evidence, Loads().of(evidence, unhurried), unhurried)


def unhurried() -> None:
    """Time is never over."""


@st.composite
def adversarial(draw: st.DrawFn) -> PoolEvidence:
    """Anything that counters may say, whether some load can cause it or not."""
    pages = draw(st.floats(1e3, 1e7))
    tables, resting = {}, {}
    for number in range(draw(st.integers(0, 4))):
        size = draw(st.floats(1.0, 10 * pages))
        resident = draw(st.none() | st.floats(0.0, size))
        since_start = draw(st.floats(0.0, 1e12))
        tables[f"shop.table{number}"] = TableReads(size, draw(st.floats(1e-6, 1e6)), resident, since_start)
    known = all(table.resident is not None for table in tables.values())
    if not known:
        tables = {name: replace(table, resident=None) for name, table in tables.items()}
    for number in range(draw(st.integers(0, 1))):
        size = draw(st.floats(1.0, 10 * pages))
        resting[f"shop.resting{number}"] = TableReads(size, 0.0, draw(st.floats(0.0, size)) if known else None)
    share = draw(st.floats(0.06, 0.9))
    old_seconds = draw(st.sampled_from([0.0, 0.01, 1.0, 30.0]))
    unexplained = draw(st.floats(0.0, 1e3))
    evidence = evidence_of(
        tables, pages * share, pages * (1 - share), draw(st.floats(0.0, 1e6)), old_seconds=old_seconds
    )
    return replace(
        evidence, full=draw(st.booleans()), resting=resting, unexplained=unexplained, reads=evidence.reads + unexplained
    )


@st.composite
def beside_scans(draw: st.DrawFn, scanned_tables: int) -> PoolEvidence:
    """The same beside scanned tables, of which a pass may find any part in the pool. A window lasts an hour at most."""
    evidence = draw(adversarial())
    scans, per_pass = [], {}
    for number in range(scanned_tables):
        name, pages = f"shop.report{number}", draw(st.integers(1, round(2 * evidence.pages)))
        period, sharers = draw(st.floats(0.1, 3_600.0)), draw(st.sampled_from([1.0, 3.0]))
        kept = draw(st.sampled_from([0.0, 1.0]) | st.floats(0.0, 0.98))
        per_pass[name] = (1 - kept) * pages / sharers
        seconds, fetch = period * draw(st.floats(0.0, 1.0)), draw(st.sampled_from(["normal", "scan"]))
        scans.append(TableScan(name, pages, period, seconds, fetch, kept, sharers))  # type: ignore[arg-type]
    used = round(evidence.pages)
    workload = Workload(tuple(scans), used if evidence.full else draw(st.integers(0, used)))
    scanned = scanned_of(evidence.held, workload, per_pass)
    return replace(evidence, scanned=scanned, reads=evidence.reads + math.fsum(scanned.by_table.values()))


def every(size: PoolSize) -> list[ExpectedReads]:
    return [size.pages_read_per_second, *(table.pages_read_per_second for table in size.tables)]


def obey(evidence: PoolEvidence, times: tuple[float, ...]) -> None:
    """The answer is possible."""
    model = model_of(evidence)
    sizes = [model.size(multiple) for multiple in sorted({1.0, *times})]
    for size in sizes:
        for reads in every(size):
            assert 0.0 <= reads.low <= reads.expected * (1 + 1e-9) + 1e-9
            assert reads.expected <= reads.high * (1 + 1e-9) + 1e-9 < math.inf
    for smaller, larger in pairwise(sizes):  # reads never rise with size
        before, after = smaller.pages_read_per_second, larger.pages_read_per_second
        assert after.low <= before.low * (1 + 1e-3) + 1e-6 * evidence.reads
        assert after.expected <= before.expected * (1 + 1e-3) + 1e-6 * evidence.reads
        assert after.high <= before.high * (1 + 1e-3) + 1e-6 * evidence.reads
    [today] = [size.pages_read_per_second for size in sizes if size.times == 1.0]
    assert {today.low, today.expected, today.high} == {evidence.reads}
    first, largest = model.first_reads, sizes[-1].pages_read_per_second
    assert largest.expected <= first.expected * (1 + 1e-9) + 1e-9  # all that is asked for fits
    assert largest.high <= first.high + 0.03 * evidence.reads + 1e-9


@given(evidence=adversarial())
@settings(max_examples=60)
def test_whatever_was_measured_the_answer_is_possible(evidence: PoolEvidence) -> None:
    obey(evidence, TIMES)


@pytest.mark.parametrize(
    ("scanned_tables", "examples", "times"),
    [
        (1, 3, FEW_TIMES),
        (2, 1, FEW_TIMES),
        pytest.param(1, 150, TIMES, marks=pytest.mark.long),
        pytest.param(2, 60, TIMES, marks=pytest.mark.long),
    ],
)
def test_whatever_was_measured_beside_scans_the_answer_is_possible(
    scanned_tables: int, examples: int, times: tuple[float, ...]
) -> None:
    @given(evidence=beside_scans(scanned_tables))
    @settings(max_examples=examples, phases=[Phase.generate])  # to shrink one would take minutes
    def check(evidence: PoolEvidence) -> None:
        obey(evidence, times)

    check()


def state_of(groups: dict[str, list[Pages]], held: Sublists) -> PoolEvidence | None:
    """What the counters say of a pool under these accesses, by the closed form."""
    pages = [group for table in groups.values() for group in table]
    state = settle(pages, held)
    if state is None or not state.read:
        return None
    tables, at = {}, 0
    stay_at = stays(held, state.old_seconds, state.young_seconds, state.read)
    for name, table in groups.items():
        resident = math.fsum(number * stay_at(rate).resident for number, rate in table)
        size = math.fsum(number for number, _ in table)
        tables[name] = TableReads(size, math.fsum(state.reads[at : at + len(table)]), min(resident, size), 1e15)
        at += len(table)
    tables = {name: table for name, table in tables.items() if table.reads > 1e-9}
    return evidence_of(tables, held.young, held.old, state.made_young, old_seconds=held.old_seconds)


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[dict[str, list[Pages]], Sublists]:
    """Random accesses to some tables, and a list that holds a part of their pages."""
    groups = {
        f"shop.table{number}": [
            Pages(draw(st.floats(50.0, 5e4)), 10 ** draw(st.floats(-4.0, 1.0))) for _ in range(draw(st.integers(1, 4)))
        ]
        for number in range(draw(st.integers(1, 3)))
    }
    pages = math.fsum(number for table in groups.values() for number, _ in table)
    share = draw(st.floats(0.1, 0.6))
    return groups, Sublists(pages * share * 0.63, pages * share * 0.37, 0.0)


@given(load=mixtures(), times=st.floats(1.05, 3.0))
@settings(max_examples=40)
def test_no_independent_accesses_read_more_than_the_high_end_of_a_larger_pool(
    load: tuple[dict[str, list[Pages]], Sublists], times: float
) -> None:
    groups, held = load
    evidence = state_of(groups, held)
    if evidence is None:
        return
    pages = [group for table in groups.values() for group in table]
    then = settle(pages, replace(held, young=held.young * times, old=held.old * times))
    assume(then is not None)
    assert then is not None
    high = model_of(evidence).size(times).pages_read_per_second.high
    assert then.read <= high * (1 + 1e-3) + 1e-6


@given(pages=st.floats(1e3, 1e7), share=st.floats(0.1, 0.6), times=st.floats(1.1, 4.0), rate=st.floats(1e-3, 1.0))
@settings(max_examples=50)
def test_where_all_pages_are_alike_the_bounds_meet(pages: float, share: float, times: float, rate: float) -> None:
    held = Sublists(pages * share * 0.63, pages * share * 0.37, 0.0)
    evidence = state_of({"shop.orders": [Pages(pages, rate)]}, held)
    assert evidence is not None
    reads = model_of(evidence).size(times).pages_read_per_second
    even = evidence.reads * max(0.0, (1 - share * times) / (1 - share))
    assert reads.expected == pytest.approx(even, abs=0.01 * evidence.reads)
    assert reads.high - reads.low <= 0.07 * evidence.reads


@given(load=mixtures(), factor=st.floats(0.1, 50.0))
@settings(max_examples=30)
def test_twice_the_load_reads_twice_as_much(load: tuple[dict[str, list[Pages]], Sublists], factor: float) -> None:
    evidence = state_of(*load)
    if evidence is None:
        return
    faster = replace(
        evidence,
        tables={name: replace(table, reads=table.reads * factor) for name, table in evidence.tables.items()},
        reads=evidence.reads * factor,
        made_young=evidence.made_young * factor,
        accesses=evidence.accesses * factor,
        seconds=evidence.seconds / factor,
    )
    for times in (0.5, 2.0):
        once, more = (model_of(load).size(times).pages_read_per_second for load in (evidence, faster))
        assert more.expected == pytest.approx(factor * once.expected, rel=2e-2, abs=1e-3 * faster.reads)
        assert more.high == pytest.approx(factor * once.high, rel=2e-2, abs=1e-3 * faster.reads)
