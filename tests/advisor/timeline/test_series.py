"""Series: from hand-made snapshots, and from recordings of real servers."""

from __future__ import annotations

import pytest

from advisor.timeline.series import QUANTITIES, TABLES, SeriesAnswer, series
from exporter.collectors.base import MOST_ROWS
from exporter.collectors.data_files import FileReads
from exporter.collectors.pools import POOLS
from exporter.snapshot import Snapshot, Table
from tests.advisor.building import BOOTED, captured, pool, snapshot

READ = ("pages_read",)


def reading(seconds: float, *pages: int, booted: float = BOOTED, **others: int) -> Snapshot:
    """A snapshot of instances that have read so many pages."""
    pools = tuple(pool(pool=n, pages_read=count, **others) for n, count in enumerate(pages))
    return snapshot(seconds, booted=booted, pools=pools)


def of(answer: SeriesAnswer, name: str, **labels: str) -> tuple[float | None, ...]:
    [values] = [line.values for line in answer.series if (line.name, line.labels) == (name, labels)]
    return values


def files(seconds: float, **reads: int) -> Snapshot:
    return snapshot(
        seconds, table_files={Table("shop", name): FileReads(count, 0, 0.0) for name, count in reads.items()}
    )


def test_a_count_is_a_rate_of_each_instance_and_of_all() -> None:
    answer = series([reading(10, 100, 7), reading(20, 200, 7), reading(25, 250, 12)], READ, BOOTED)
    assert answer.at == (BOOTED + 10, BOOTED + 20, BOOTED + 25)
    assert of(answer, "pages_read", pool="0") == (None, 10, 10)
    assert of(answer, "pages_read", pool="1") == (None, 0, 1)
    assert of(answer, "pages_read") == (None, 10, 11)


def test_a_size_is_as_it_was_read() -> None:
    names = ("young_pages", "old_pages", "free_pages", "size_pages", "old_target_pages")
    history = [reading(10, 0, size_pages=4000, database_pages=3000, old_pages=1100, free_pages=1000)]
    answer = series(history, names, BOOTED)
    assert {line.name: line.values for line in answer.series if not line.labels} == {
        "young_pages": (1900,),
        "old_pages": (1100,),
        "free_pages": (1000,),
        "size_pages": (4000,),
        "old_target_pages": (1107,),  # 3000 * (37 * 1024 // 100) // 1024
    }


def test_the_first_wanted_point_has_a_rate_where_there_is_one_before_it() -> None:
    history = [reading(10, 0), reading(20, 50), reading(30, 150)]
    answer = series(history, READ, BOOTED + 20)
    assert (answer.at, of(answer, "pages_read")) == ((BOOTED + 30,), (10,))


@pytest.mark.parametrize(
    "after",
    [reading(10, 5000, booted=BOOTED + 25), reading(30, 90)],
    ids=["a restart", "a count that fell"],
)
def test_a_count_that_began_anew_has_no_rate(after: Snapshot) -> None:
    answer = series([reading(10, 0), reading(20, 100), after], READ, BOOTED)
    assert of(answer, "pages_read") == (None, 10, None)


def test_a_gap_is_a_point_without_values() -> None:
    answer = series([reading(10, 0), reading(20, 100), reading(220, 300), reading(230, 400)], READ, BOOTED)
    assert answer.at == (BOOTED + 10, BOOTED + 20, BOOTED + 120, BOOTED + 220, BOOTED + 230)
    assert of(answer, "pages_read") == (None, 10, None, None, 10)


def test_a_source_that_was_not_read_has_its_growth_at_its_next_read() -> None:
    def read_at(seconds: float, pages: int, read: float) -> Snapshot:
        return snapshot(seconds, pools=(pool(pages_read=pages),), read_at={POOLS.name: BOOTED + read})

    history = [read_at(10, 0, 10), read_at(20, 0, 10), read_at(30, 100, 30)]
    assert of(series(history, READ, BOOTED), "pages_read") == (None, None, 5)
    history[1] = snapshot(20, pools=None)
    assert of(series(history, READ, BOOTED), "pages_read") == (None, None, 5)


def test_many_points_are_thinned_to_means() -> None:
    history = [reading(10 * n, 10 * n * n) for n in range(8)]  # rates 1, 3, 5 … 13
    answer = series(history, READ, BOOTED - 1, most=3)
    assert answer.at == (BOOTED + 20, BOOTED + 50, BOOTED + 70)
    assert of(answer, "pages_read") == (2, 7, 12)


def test_the_tables_that_read_most_have_a_series_each() -> None:
    first = {f"t{n}": 1000 for n in range(12)}
    last = {f"t{n}": 1000 + 10 * n for n in range(12)}
    answer = series([files(10, **first), files(20, **last)], ("table_pages_read",), BOOTED)
    assert len(answer.series) == TABLES
    assert [line.labels["table"] for line in answer.series] == [f"t{n}" for n in range(11, 3, -1)]
    assert of(answer, "table_pages_read", schema="shop", table="t11") == (None, 11)


def test_a_table_that_is_new_in_a_list_that_was_not_full_began_at_nothing() -> None:
    answer = series([files(10, old=5), files(20, old=5, new=70)], ("table_pages_read",), BOOTED)
    assert of(answer, "table_pages_read", schema="shop", table="new") == (None, 7)
    full = {f"t{n}": 1 for n in range(MOST_ROWS)}
    answer = series([files(10, **full), files(20, **full, new=70)], ("table_pages_read",), BOOTED)
    assert answer.series == ()


def test_tables_that_read_nothing_have_no_series() -> None:
    assert series([files(10, orders=5), files(20, orders=5)], ("table_pages_read",), BOOTED).series == ()


def test_names_that_come_twice_are_answered_once() -> None:
    history = [reading(10, 0), reading(20, 100)]
    assert len(series(history, ("pages_read", "old_pages", "pages_read"), BOOTED).series) == 4


def test_nothing_known_makes_no_series() -> None:
    answer = series([snapshot(10, pools=None), snapshot(20, pools=None)], tuple(QUANTITIES), BOOTED)
    assert (len(answer.at), answer.series) == (2, ())
    assert series([], tuple(QUANTITIES), 0.0) == SeriesAnswer(at=(), series=())


@pytest.mark.parametrize("name", ["mysql-9.7/repeated-scan", "mariadb-11.8/repeated-scan", "mysql-5.6/repeated-scan"])
def test_a_recordings_rates_sum_up_to_what_its_window_has(name: str) -> None:
    window = captured(name)
    answer = series(window.snapshots, READ, 0.0)
    steps = [after - before for before, after in zip(answer.at, answer.at[1:], strict=False)]
    summed = sum(rate * step for rate, step in zip(of(answer, "pages_read")[1:], steps, strict=True) if rate)
    read = window.delta(lambda snapshot: sum(pool.pages_read for pool in snapshot[POOLS] or ()))
    assert read is not None
    assert read > 0
    assert summed == pytest.approx(read, rel=0.02)  # pools are read a little after a snapshot's time


def test_a_change_buffer_at_work_is_in_its_series() -> None:
    names = ("change_buffer_pages", "change_buffer_merges", "change_buffer_operations")
    answer = series(captured("mysql-5.6/change-buffer-merges").snapshots, names, 0.0)
    by_name = {line.name: [value for value in line.values if value] for line in answer.series}
    assert set(by_name) == set(names)
    assert all(by_name.values())


def test_parallel_readers_at_work_are_in_their_series() -> None:
    answer = series(captured("mysql-9.7/parallel-count").snapshots, ("reader_threads",), 0.0)
    assert max(value or 0 for value in of(answer, "reader_threads")) > 0.5
    assert series(captured("mariadb-11.8/repeated-scan").snapshots, ("reader_threads",), 0.0).series == ()
