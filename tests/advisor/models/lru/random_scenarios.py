"""Scenarios drawn at random, of pools small enough for the page-exact reference."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from advisor.models.lru.scenario import Scenario

PAGES = (1500, 2500)  # in an instance
LEAST_OLD = 192
"""Pages of the old sublist. If it is not much longer than a read-ahead of 64 pages, some of these are evicted before
they are accessed, and read twice. The reference does that; the model does not."""
ONE, NO_MARKS = st.just(1), st.just((0, 0))
Draw = st.DrawFn


def old_blocks_pct(pages: int) -> st.SearchStrategy[int]:
    """Settings for an instance of this many pages."""
    return st.integers(-(-LEAST_OLD * 100 // pages), 95)


@st.composite
def pools(draw: Draw, instances: st.SearchStrategy[int], marks: st.SearchStrategy[tuple[int, int]]) -> dict[str, Any]:
    count = draw(instances)
    low, high = draw(marks)
    pages = draw(st.integers(*PAGES))
    return {
        "pages": count * pages,
        "instances": count,
        "old_blocks_pct": draw(old_blocks_pct(pages)),
        "old_blocks_time_ms": draw(st.sampled_from([0.0, 10.0, 1000.0, 1000.0, 5000.0, 1e6])),
        "free_low": low,
        "free_high": high,
    }


@st.composite
def scans(draw: Draw, sizes: dict[str, int]) -> dict[str, Any]:
    name = draw(st.sampled_from(sorted(sizes)))
    return {
        "scan": name,
        "pages": sizes[name],
        "passes": draw(st.integers(1, 2)),
        "seconds": draw(st.sampled_from([0.1, 1.0, 3.0])),
        "gap_seconds": draw(st.sampled_from([0.0, 1.0, 3.0])),
        "fetch": draw(st.sampled_from(["normal", "normal", "scan"])),
    }


@st.composite
def points(draw: Draw, pool: int) -> dict[str, Any]:
    pages = draw(st.integers(pool // 20, pool * 4 // 5))
    return {
        "points": "hot",
        "pages": pages,
        "accesses": draw(st.integers(pages // 8, pages * 3)),
        "seconds": draw(st.sampled_from([0.5, 5.0])),
        "skew": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "seed": draw(st.integers(1, 10**9)),
    }


@st.composite
def scenarios(
    draw: Draw,
    *,
    with_points: bool = False,
    instances: st.SearchStrategy[int] = ONE,
    marks: st.SearchStrategy[tuple[int, int]] = NO_MARKS,
) -> Scenario:
    """Scans of up to three tables: alone, in turn, with changes of settings, and with lookups between them."""
    pool = draw(pools(instances, marks))
    whole = int(pool["pages"])
    sizes = {name: draw(st.integers(whole // 20, whole * 3 // 2)) for name in "abc"[: draw(st.integers(1, 3))]}
    hot = draw(points(whole)) if with_points else None
    steps: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(2, 5))):
        match draw(st.integers(0, 6)):
            case 0:
                pct = draw(old_blocks_pct(whole // pool["instances"]))
                steps.append({"set": {"old_blocks_pct": pct}})
            case 1 | 2:
                inner = [draw(scans(sizes)) for _ in range(draw(st.integers(1, 2)))]
                steps.append({"repeat": draw(st.integers(2, 5)), "steps": [*inner, *([hot] if hot else [])]})
            case 3 if hot:
                steps.append(hot)
            case _:
                steps.append(draw(scans(sizes)))
    return Scenario.model_validate({"pool": pool, "steps": steps})
