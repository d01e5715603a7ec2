"""Accesses that are known are found again, as far as what was measured of them tells."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.curve.curve import Estimate, Size
from advisor.curve.estimate import explain
from advisor.curve.evidence import Evidence
from advisor.curve.explain import Measured, Table
from advisor.models.steady import List, Pages, Scan, State, filled, settle, zipf

PAGES, PER_SECOND, MIB_OF_POOL = 20_000.0, 5_000.0, 64.0
TIMES = (0.5, 1.5, 2.0, 4.0)
Groups = Mapping[str, Sequence[Pages]]


def zipfian(skew: float) -> Groups:
    return {"shop.items": zipf(PAGES, skew, PER_SECOND)}


def hot(share: float, of_accesses: float) -> Groups:
    some, others = share * PAGES, (1 - share) * PAGES
    return {
        "shop.items": [
            Pages(some, of_accesses * PER_SECOND / some),
            Pages(others, (1 - of_accesses) * PER_SECOND / others),
        ]
    }


TWO_TABLES: Groups = {
    "shop.hot": [Pages(PAGES / 4, 0.7 * PER_SECOND / (PAGES / 4))],
    "shop.cold": zipf(PAGES * 3 / 4, 0.5, 0.3 * PER_SECOND),
}
LOADS = {
    "uniform": zipfian(0.0),
    "zipf 0.6": zipfian(0.6),
    "zipf 0.9": zipfian(0.9),
    "zipf 1.2": zipfian(1.2),
    "hot spot": hot(0.2, 0.8),
    "two tables": TWO_TABLES,
}


def held(pages: float, pct: float = 0.37) -> List:
    return List(pages * (1 - pct), pages * pct, 0.001)


def state_of(groups: Groups, pages: float, *scans: Scan) -> State:
    found = settle([each for some in groups.values() for each in some], held(pages), scans)
    assert found is not None
    return found


def by_table(groups: Groups, state: State) -> dict[str, float]:
    reads = iter(state.reads)
    return {name: math.fsum(next(reads) for _ in some) for name, some in groups.items()}


def evidence_of(groups: Groups, pages: float, *scans: Scan, filling: Sequence[float] = ()) -> Evidence:
    """What a server would show that is asked in this way, with a pool of so many pages."""
    state = state_of(groups, pages, *scans)
    reads = by_table(groups, state)
    tables = {
        name: Table(sum(each.pages for each in some), sum(each.pages * each.rate for each in some), reads[name])
        for name, some in groups.items()
    }
    asked = [each for some in groups.values() for each in some]
    points = tuple((at, filled(asked, at).read / PER_SECOND) for at in filling)
    by_scans = math.fsum(scan.read / scan.period for scan in scans)
    return Evidence(
        seconds=600.0,
        pages=pages,
        size=pages,
        kept_free=0.0,
        most_free=0.0,
        page_bytes=16384.0,
        measured=Measured(held(pages), tables, state.made_young, scans, filling=points),
        reads=state.read + by_scans,
        unexplained=0.0,
        read_again=1.0,
    )


def sizes(found: Evidence, times: Sequence[float] = TIMES) -> dict[float, Size]:
    return {each.times: each for each in explain(found, MIB_OF_POOL).sizes(times)}


@pytest.mark.parametrize("load", LOADS)
def test_the_reads_of_other_sizes_are_within_their_bounds(load: str) -> None:
    groups, errors = LOADS[load], []
    for pages in (0.1 * PAGES, 0.3 * PAGES, 0.6 * PAGES):
        today = state_of(groups, pages).read
        for times, found in sizes(evidence_of(groups, pages)).items():
            real = state_of(groups, times * pages).read
            assert found.reads.low <= real <= found.reads.high, (pages, times, real, found.reads)
            assert sum(each.expected for each in found.tables.values()) == pytest.approx(found.reads.expected)
            errors.append(abs(found.reads.expected - real) / today)
    assert statistics.median(errors) < 0.03


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_each_table_has_its_own_reads(share: float) -> None:
    found = sizes(evidence_of(TWO_TABLES, share * PAGES), (0.5,))[0.5].tables
    real = by_table(TWO_TABLES, state_of(TWO_TABLES, 0.5 * share * PAGES))
    assert {name: each.low <= real[name] <= each.high for name, each in found.items()} == dict.fromkeys(real, True)


@given(skew=st.floats(0.0, 1.2), share=st.floats(0.08, 0.7), rate=st.floats(0.001, 1.0))
@settings(max_examples=10)
def test_neither_the_size_of_the_load_nor_that_of_the_pool_matters(skew: float, share: float, rate: float) -> None:
    groups = {"t.t": [Pages(n, rate * each) for n, each in zipf(PAGES, skew, PER_SECOND)]}
    evidence = evidence_of(groups, share * PAGES)
    evidence = replace(
        evidence, measured=replace(evidence.measured, held=replace(held(share * PAGES), old_seconds=0.0))
    )
    for times, found in sizes(evidence, (0.5, 2.0)).items():
        real = settle(groups["t.t"], replace(held(times * share * PAGES), old_seconds=0.0))
        assert real is not None
        assert found.reads.low * 0.98 <= real.read <= found.reads.high * 1.02 + 1e-9


def test_the_filling_narrows_the_bounds() -> None:
    groups, pages = LOADS["hot spot"], 0.3 * PAGES
    bare, seen = (
        sizes(evidence_of(groups, pages, filling=points))[2.0].reads
        for points in ((), tuple(pages * part / 8 for part in range(1, 8)))
    )
    assert seen.high - seen.low < 0.6 * (bare.high - bare.low)
    assert seen.low <= state_of(groups, 2 * pages).read <= seen.high


def test_reads_that_are_not_repeated_stay_in_every_size() -> None:
    """No access is made young: nothing that is read is asked for again."""
    evidence = evidence_of(LOADS["uniform"], 0.3 * PAGES)
    measured = replace(evidence.measured, made_young=0.02 * (evidence.measured.made_young or 0.0))
    for again in (0.0, None):
        found = sizes(replace(evidence, measured=measured, read_again=again))[4.0].with_first
        assert found.high > 0.85 * evidence.reads


def test_first_reads_are_in_the_bounds_as_far_as_they_may_be() -> None:
    evidence = evidence_of(LOADS["hot spot"], 0.6 * PAGES)
    never, perhaps = (sizes(replace(evidence, read_again=share)) for share in (1.0, 0.5))
    assert never[2.0].with_first.high < 0.05 * evidence.reads < perhaps[2.0].with_first.high


def test_first_reads_are_no_part_of_the_curve() -> None:
    evidence = evidence_of(LOADS["hot spot"], 0.6 * PAGES)
    never, perhaps = (sizes(replace(evidence, read_again=share)) for share in (1.0, 0.5))
    assert never[1.0].reads == Estimate(evidence.reads, evidence.reads, evidence.reads)
    assert perhaps[1.0].reads.low < 0.7 * evidence.reads
    assert perhaps[1.0].reads.high == perhaps[1.0].with_first.expected == evidence.reads
    assert perhaps[2.0].reads.high < 0.05 * evidence.reads


def test_a_scan_that_passes_through_the_pool_is_kept_by_a_larger_one() -> None:
    groups, pages = LOADS["zipf 0.6"], 0.35 * PAGES
    scan = Scan(0.25 * PAGES, 40.0, 0.25 * PAGES)
    found = sizes(evidence_of(groups, pages, scan))
    assert [found[times].scans for times in (0.5, 1.0)] == pytest.approx([0.25 * PAGES / 40.0] * 2)
    assert found[4.0].scans == 0.0
    assert found[0.5].reads.low <= state_of(groups, 0.5 * pages, scan).read + found[0.5].scans <= found[0.5].reads.high


def test_before_anything_was_evicted_only_the_filling_tells() -> None:
    """The server makes no page young until then: the accesses may be all alike, or all on few pages."""
    groups = LOADS["zipf 0.9"]
    evidence = evidence_of(groups, 0.99 * PAGES, filling=[PAGES * part / 10 for part in range(1, 10)])
    tables = {"shop.items": Table(PAGES, PER_SECOND, 0.0)}
    measured = replace(evidence.measured, held=held(PAGES), tables=tables, made_young=0.0, full=False)
    seen = replace(evidence, pages=PAGES, size=2 * PAGES, measured=measured, reads=0.0)
    bare = replace(seen, measured=replace(measured, filling=()))
    real = state_of(groups, 0.2 * PAGES).read
    for each in (seen, bare):
        found = sizes(each, (0.1,))[0.1].reads
        assert found.low <= real <= found.high
    assert sizes(bare, (0.1,))[0.1].reads.low == 0.0
    assert sizes(seen, (0.1,))[0.1].reads.high < 1.5 * real


def test_a_larger_pool_reads_nothing_again_where_pages_are_free() -> None:
    evidence = evidence_of(LOADS["zipf 0.9"], 0.5 * PAGES)
    tables = {"shop.items": Table(PAGES, PER_SECOND, 60.0)}  # the statistics may count more pages than are asked for
    measured = replace(evidence.measured, tables=tables, made_young=0.0, full=False)
    found = sizes(replace(evidence, size=PAGES, measured=measured, reads=60.0))
    assert {found[times].reads.expected for times in (1.0, 2.0, 4.0)} == {0.0}
    assert found[2.0].with_first.expected == pytest.approx(60.0)
    assert found[0.5].reads.high > 1_000.0


def test_where_no_page_becomes_young_both_uses_of_the_young_sublist_are_possible() -> None:
    evidence = evidence_of(LOADS["zipf 0.6"], 0.1 * PAGES)
    stalled = replace(evidence.measured, held=replace(evidence.measured.held, old_seconds=10.0), made_young=0.0)
    found = sizes(replace(evidence, measured=stalled), (0.5,))[0.5].reads
    assert found.low < state_of(LOADS["zipf 0.6"], 0.05 * PAGES).read < found.high
    assert found.high > 1.3 * found.low


def test_twelve_tables_of_different_skew_take_few_steps() -> None:
    groups = {f"t.t{n}": zipf(2_000.0 * (n + 1), 0.1 * n, 300.0 * (12 - n)) for n in range(12)}
    whole = sum(each.pages for some in groups.values() for each in some)
    asked = [0]

    def count() -> None:
        asked[0] += 1

    evidence = evidence_of(groups, 0.3 * whole)
    [smaller, _, larger] = explain(evidence, MIB_OF_POOL, count).sizes((0.5, 2.0))
    for pages, found in ((0.15 * whole, smaller), (0.6 * whole, larger)):
        assert found.reads.low <= state_of(groups, pages).read <= found.reads.high
    assert asked[0] < 60
