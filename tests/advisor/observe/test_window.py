"""A window holds what was watched of one life of a server under the same settings, and counts only what it knows."""

from __future__ import annotations

import pytest

from advisor.observe.limits import LONGEST_GAP
from advisor.observe.window import Window
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.snapshot import Snapshot, Table
from tests.advisor.building import BOOTED, server, snapshot, variables

A, B = Table("shop", "a"), Table("shop", "b")


def times(*history: Snapshot, longest: float = float("inf")) -> list[float]:
    return [snapshot.at - BOOTED for snapshot in Window.of(history, longest).snapshots]


def counting(*values: int | None, name: str = "n") -> Window:
    return Window(
        tuple(snapshot(10.0 * k, innodb_metrics=None if n is None else {name: n}) for k, n in enumerate(values))
    )


def counter(snapshot: Snapshot) -> float | None:
    return (snapshot[INNODB_METRICS] or {}).get("n")


def scanning(*rows: dict[Table, int] | None) -> Window:
    return Window(tuple(snapshot(10.0 * k, table_scans=scans) for k, scans in enumerate(rows)))


def growth(window: Window, table: Table) -> float | None:
    return window.growth(lambda snapshot: snapshot[TABLE_SCANS], table, float)


def test_what_nothing_cuts_is_one_window() -> None:
    assert times(snapshot(10), snapshot(20), snapshot(30)) == [10, 20, 30]


def test_a_single_snapshot_is_a_window_of_no_length() -> None:
    window = Window.of([snapshot(10)], float("inf"))
    assert (window.seconds, len(window.snapshots), window.latest.at) == (0.0, 1, BOOTED + 10)


def test_only_as_much_is_looked_back_as_asked_for() -> None:
    assert times(snapshot(10), snapshot(20), snapshot(30), snapshot(40), longest=20.0) == [20, 30, 40]


def test_a_restart_of_the_server_cuts() -> None:
    assert times(
        snapshot(1000), snapshot(1010), snapshot(5, booted=BOOTED + 1013), snapshot(15, booted=BOOTED + 1013)
    ) == [
        1018,
        1028,
    ]


def test_a_restart_right_after_a_start_cuts() -> None:
    assert times(snapshot(3), snapshot(4), snapshot(1, booted=BOOTED + 4), snapshot(2, booted=BOOTED + 4)) == [5, 6]


def test_a_restart_cuts_even_when_the_snapshot_after_it_lacks_the_uptime() -> None:
    history = (
        snapshot(1000),
        snapshot(1010, status=None),
        snapshot(5, booted=BOOTED + 1015),
        snapshot(15, booted=BOOTED + 1015),
    )
    assert times(*history) == [1010, 1020, 1030]


def test_an_uptime_in_whole_seconds_is_no_restart() -> None:
    history = [snapshot(10.9 * k, status={"uptime": float(int(10.9 * k))}) for k in range(1, 5)]
    assert len(Window.of(history, float("inf")).snapshots) == 4


def test_an_upgrade_or_another_server_behind_the_address_cuts() -> None:
    assert times(snapshot(10, of=server("8.4.2")), snapshot(20), snapshot(30)) == [20, 30]


def test_a_gap_cuts() -> None:
    assert times(snapshot(10), snapshot(20), snapshot(20 + LONGEST_GAP + 1), snapshot(150)) == [141, 150]


def test_a_pause_below_a_gap_does_not_cut() -> None:
    assert times(snapshot(10), snapshot(10 + LONGEST_GAP)) == [10, 10 + LONGEST_GAP]


def test_a_change_of_a_setting_cuts() -> None:
    after = variables(innodb_old_blocks_pct="80")
    assert times(snapshot(10), snapshot(20), snapshot(30, variables=after), snapshot(40, variables=after)) == [30, 40]


def test_a_change_of_a_setting_cuts_even_when_nobody_read_the_settings_between() -> None:
    after = variables(innodb_old_blocks_pct="80")
    assert times(snapshot(10), snapshot(20, variables=None), snapshot(30, variables=after)) == [20, 30]


def test_settings_that_could_not_be_read_do_not_cut() -> None:
    assert times(snapshot(10), snapshot(20, variables=None), snapshot(30)) == [10, 20, 30]


def test_a_counter_grows_from_the_first_to_the_last_snapshot_that_know_it() -> None:
    assert counting(None, 5, None, 12, None).delta(counter) == 7
    assert counting(5, None, 12).delta(counter) == 7


@pytest.mark.parametrize("values", [(), (5,), (None, 5), (None, None)])
def test_a_counter_known_once_or_never_has_not_grown_by_anything_known(values: tuple[int | None, ...]) -> None:
    assert counting(*values, None).delta(counter) is None


@pytest.mark.parametrize("values", [(10, 3), (10, 3, 12), (10, 12, 0), (10, None, 0, 50)])
def test_a_counter_that_somebody_reset_is_not_known(values: tuple[int | None, ...]) -> None:
    assert counting(*values).delta(counter) is None


def test_an_entry_that_appears_later_began_at_0() -> None:
    window = scanning({A: 5}, {A: 5, B: 3}, {A: 8, B: 7})
    assert (growth(window, A), growth(window, B)) == (3, 7)


def test_an_entry_of_a_table_that_was_not_read_before_did_not_begin_at_0() -> None:
    assert growth(scanning(None, {A: 5}, {A: 8}), A) == 3


@pytest.mark.parametrize(
    "rows",
    [
        [{A: 5}],
        [None, {A: 5}],
        [{A: 5}, {}],
        [{A: 5}, {A: 3}],
        [{A: 5}, {A: 0}, {A: 9}],
    ],
)
def test_an_entry_that_is_gone_or_reset_or_seen_once_has_not_grown_by_anything_known(
    rows: list[dict[Table, int] | None],
) -> None:
    assert growth(scanning(*rows), A) is None


def test_an_entry_that_was_never_there_has_not_grown() -> None:
    assert growth(scanning({}, {}), A) == 0


def test_an_entry_that_a_list_of_the_largest_left_out_for_a_while_still_grew() -> None:
    assert growth(scanning({A: 5}, {B: 9}, {A: 8}), A) == 3
