from __future__ import annotations

import pytest

from advisor.ledger.reading import MOST_TABLES, READ, READ_A_SCAN, SLICES, WAITED, Measure, Reading, reading
from advisor.observe.window import Window
from exporter.collectors.table_io import TABLE_IO
from tests.advisor.building import captured
from tests.advisor.ledger.load import Done, Load

HOT = {"schema": "shop", "table": "hot"}


def value(measured: Reading, measure: Measure) -> float:
    """A quantity as its unit says."""
    assert measure.quotient is not None
    return measure.quotient * measured.scale(measure)


def _load(ticks: int) -> Load:
    load = Load()
    for _ in range(ticks):
        load.go_on({"hot": Done(rows=100.0, read=20.0, waited=0.5)})
    return load


def test_slices_are_a_fifth_of_a_window_and_end_with_it() -> None:
    window = Window.of(_load(91).history, 3600)
    measured = reading(window)
    assert measured is not None
    assert measured.seconds == (60.0,) * 3 * SLICES
    assert (measured.began, measured.at) == (window.snapshots[0].at, window.latest.at)


def test_a_table_has_its_work_its_reads_and_its_waits() -> None:
    measured = reading(Window.of(_load(91).history, 3600))
    assert measured is not None
    [work] = measured.work
    assert (work.subject, work.way, sum(work.rows), sum(work.seconds)) == (HOT, "lookups", 90_000, 450)
    read, waited = measured.measure(READ, HOT), measured.measure(WAITED, HOT)
    assert read is not None
    assert waited is not None
    assert (value(measured, read), value(measured, waited)) == (20.0, 500.0)


def test_a_window_of_less_than_four_slices_is_too_short() -> None:
    assert reading(Window.of(_load(19).history, 3600)) is None


def test_a_snapshot_without_a_source_is_no_end_of_a_slice() -> None:
    load = _load(91)
    load.history[-7] = load.history[-7].with_section(TABLE_IO, None)
    measured = reading(Window.of(load.history, 3600))
    assert measured is not None
    assert min(measured.seconds) == 50.0
    assert sum(measured.work[0].rows) == 90_000


def test_passes_are_measured_where_somebody_wants_them() -> None:
    window = captured("mysql-9.7/repeated-scan")
    subject = {"schema": "shop", "table": "orders"}
    measured = reading(window, window.seconds, [(READ_A_SCAN, subject)])
    assert measured is not None
    measure = measured.measure(READ_A_SCAN, subject)
    assert measure is not None
    assert sum(measure.bases) == pytest.approx(5.0, abs=1.5)
    assert value(measured, measure) == pytest.approx(sum(measure.amounts) / sum(measure.bases))
    assert reading(window, window.seconds) != measured


def test_a_slice_in_which_counters_were_reset_tells_nothing() -> None:
    load = _load(91)
    load._grown = {}  # noqa: SLF001 - TRUNCATE TABLE performance_schema.…
    for _ in range(30):
        load.go_on({"hot": Done(rows=100.0, read=20.0, waited=0.5)})
    measured = reading(Window.of(load.history, 3600))
    assert measured is not None
    assert len(measured.seconds) == 4 * SLICES - 1
    read = measured.measure(READ, HOT)
    assert read is not None
    assert value(measured, read) == 20.0


def test_tables_of_the_other_reading_are_measured_though_others_do_more() -> None:
    def of_many(rows: float) -> Window:
        load = Load()
        for _ in range(91):
            others = {f"t{number}": Done(rows=100.0, read=20.0, waited=0.5) for number in range(2 * MOST_TABLES)}
            load.go_on({**others, "hot": Done(rows=rows, read=rows, waited=rows / 100.0)})
        return Window.of(load.history, 3600)

    before, after = reading(of_many(1_000.0)), of_many(10.0)
    assert before is not None
    assert before.measure(READ, HOT) is not None
    alone, beside = reading(after), reading(after, like=before)
    assert alone is not None
    assert alone.measure(READ, HOT) is None
    assert beside is not None
    assert beside.measure(READ, HOT) is not None
