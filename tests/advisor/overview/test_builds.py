"""The share of an index build that is done, and the time left."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.observe.window import Window
from advisor.overview.builds import Build, builds
from advisor.overview.overview import overview
from exporter.collectors.builds import Building, Builds
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.snapshot import Index, ReadOutcome, Snapshot
from tests.advisor.building import ORDERS, server, snapshot

# Two indexes of a table of 1.5 million rows, on MySQL 9.7.4: seconds, stage and work; it took 8.5 s.
SEEN = [
    (1.0, "read PK and internal sort", 11_736),
    (1.9, "merge sort", 24_894),
    (3.5, "merge sort", 28_845),
    (4.9, "insert", 32_368),
    (5.9, "insert", 38_388),
    (7.1, "insert", 40_977),
    (8.0, "insert", 40_977),
]
TOOK = 8.5
SIZES = IndexSizes(
    {
        Index("shop", "orders", "PRIMARY"): IndexSize(5_100, 5_086, 1_500_000),
        Index("shop", "orders", "k1"): IndexSize(2_000, 1_990, None),
    },
    0,
)


def building(seconds: float = 10.0, indexes: int | None = 2) -> Building:
    return Building(ORDERS, "altering table", seconds, indexes)


def at(section: Builds, **sections: Any) -> Snapshot:
    known: dict[str, Any] = {"builds": section, "index_sizes": SIZES}
    return snapshot(100, **(known | sections))


def only(latest: Snapshot) -> Build:
    shown = builds(Window((latest,)))
    assert shown is not None
    [build] = shown
    return build


@pytest.mark.parametrize(("seconds", "stage", "completed"), SEEN)
def test_progress_keeps_to_the_time_that_passes(seconds: float, stage: str, completed: int) -> None:
    build = only(at(Builds((building(seconds),), f"alter table ({stage})", completed)))
    assert build.done == pytest.approx(seconds / TOOK, abs=0.22)
    assert build.stage == f"alter table ({stage})"
    if seconds >= 2.0:
        assert build.seconds_left == pytest.approx(TOOK - seconds, abs=2.7)


def test_progress_never_goes_back_nor_beyond_the_end() -> None:
    shares = [only(at(Builds((building(),), f"alter table ({stage})", work))).done for _, stage, work in SEEN]
    assert shares == sorted(float(share or 0.0) for share in shares)
    assert only(at(Builds((building(),), "alter table (end)", 10**9))).done == 1


def test_without_the_size_of_the_table_the_stage_tells() -> None:
    merging = Builds((building(),), "alter table (merge sort)", 24_894)
    assert only(at(merging, index_sizes=IndexSizes({}, 0))).done == 0.23
    assert only(at(Builds((building(indexes=None),), "alter table (insert)", 24_894))).done == 0.63


def test_a_table_that_is_built_anew_counts_all_its_indexes() -> None:
    read = Builds((building(indexes=0),), "alter table (read PK and internal sort)", 2 * 5_086)
    assert only(at(read)).done == pytest.approx(0.23 / 2)


def test_of_several_builds_nobody_knows_whose_the_work_is() -> None:
    shown = builds(Window((at(Builds((building(), building()), "alter table (insert)", 9)),)))
    assert shown is not None
    assert [(build.stage, build.done, build.seconds_left) for build in shown] == [("altering table", None, None)] * 2


def test_another_statement_has_a_stage_and_no_progress() -> None:
    build = only(at(Builds((building(),), None, None)))
    assert (build.schema_, build.table, build.stage) == ("shop", "orders", "altering table")
    assert (build.done, build.seconds, build.seconds_left) == (None, 10, None)


MARIA = server("11.8.6-MariaDB")


def progress(hundredths: float) -> dict[str, float]:
    return {"uptime": 100.0, "innodb_onlineddl_pct_progress": hundredths}


def test_mariadb_tells_the_progress_itself() -> None:
    build = only(at(Builds((building(4.3, None),), None, None), of=MARIA, status=progress(4_018.0)))
    assert (build.done, build.seconds_left) == (0.402, 6)
    begun = only(at(Builds((building(0.1, None),), None, None), of=MARIA, status=progress(4_018.0)))
    assert begun.seconds_left is None
    copied = only(at(Builds((building(10.0, None),), None, None), of=MARIA, status=progress(0.0)))
    assert (copied.done, copied.seconds_left) == (None, None)


def test_without_performance_schema_mariadb_still_tells_how_far_it_is() -> None:
    off = {"builds": ReadOutcome(0.0, 0.0, "disabled", "performance_schema is OFF", "switch it on")}

    def seen(*hundredths: float) -> tuple[Build, ...] | None:
        shots = [
            snapshot(
                100 + 10 * number, of=MARIA, outcomes=off, status=progress(share) | {"uptime": 100.0 + 10 * number}
            )
            for number, share in enumerate(hundredths)
        ]
        shown = overview(Window(tuple(shots)))
        assert shown.lacks["builds"] == "performance_schema is OFF: switch it on"
        return shown.builds

    assert seen(9_000.0, 0.0, 2_000.0, 3_000.0, 4_000.0) == (
        Build(schema_=None, table=None, stage=None, done=0.4, seconds=20, seconds_left=60),
    )
    assert [build.seconds_left for build in seen(0.0, 500.0) or ()] == [None]
    # Another build, without a look in between.
    assert [build.seconds for build in seen(8_000.0, 9_000.0, 100.0) or ()] == [0]
    assert seen(9_000.0, 0.0) == ()


def test_why_something_is_not_known_is_builds_and_lack() -> None:
    def builds_and_lack(latest: Snapshot) -> tuple[tuple[Build, ...] | None, str | None]:
        shown = overview(Window((latest,)))
        return shown.builds, shown.lacks["builds"]

    assert builds_and_lack(at(Builds((), None, None))) == ((), None)
    failed = {"builds": ReadOutcome(0.0, 0.0, "disabled", "performance_schema is OFF", "switch it on")}
    assert builds_and_lack(snapshot(9, outcomes=failed)) == (None, "performance_schema is OFF: switch it on")
    unnamed = Builds((Building(None, "altering table", 1.0, 1),), None, None)
    lack = "which table is built is not known"
    assert (builds_and_lack(at(unnamed))[1] or "").startswith(f"{lack}: UPDATE performance_schema.setup_instruments")
    assert builds_and_lack(at(unnamed, of=server("5.6.24")))[1] == f"{lack}: the server has no list of locks"
