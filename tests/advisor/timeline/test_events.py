"""Events: what changed between snapshots, and what else the sidecar saw."""

from __future__ import annotations

from collections import deque

from advisor.observe.source import Replay
from advisor.timeline.events import MOST_EVENTS, Timeline
from exporter.snapshot import Snapshot
from tests.advisor.building import BOOTED, capture, server, snapshot, variables


def texts(timeline: Timeline) -> list[str]:
    return [event.text for event in timeline.events()]


def seen(*history: Snapshot, timeline: Timeline | None = None) -> Timeline:
    """A timeline after a look at each of the snapshots as they came."""
    timeline = timeline or Timeline()
    for count in range(1, len(history) + 1):
        timeline.look(deque(history[:count]), history[count - 1].at)  # as the sampler keeps it
    return timeline


def test_a_setting_that_changes_is_an_event_at_the_first_snapshot_that_shows_it() -> None:
    after = snapshot(20, variables=variables(innodb_old_blocks_pct="64"))
    [event] = seen(snapshot(10), after, snapshot(30, variables=variables(innodb_old_blocks_pct="64"))).events()
    assert (event.kind, event.at, event.setting) == ("setting", after.at, "innodb_old_blocks_pct")
    assert (event.before, event.after, event.text) == (37, 64, "innodb_old_blocks_pct: 37 → 64")


def test_bytes_and_words_are_shown_as_people_read_them() -> None:
    then = variables(innodb_buffer_pool_size="134217728")
    now = variables(innodb_buffer_pool_size="268435456", innodb_change_buffering="none")
    timeline = seen(snapshot(10, variables=then), snapshot(20, variables=now))
    assert sorted(texts(timeline)) == [
        "innodb_buffer_pool_size: 128 MiB → 256 MiB",
        "innodb_change_buffering: all → none",
    ]


def test_a_value_that_is_no_number_is_told_as_it_is() -> None:
    [event] = seen(snapshot(10), snapshot(20, variables=variables(innodb_old_blocks_pct="nan"))).events()
    assert event.text == "innodb_old_blocks_pct: 37 → nan"
    assert "after" in event.model_dump_json()


def test_a_restart_is_an_event_at_the_servers_start() -> None:
    [event] = seen(snapshot(1000), snapshot(10, booted=BOOTED + 1030)).events()
    assert (event.kind, event.at, event.text) == ("restart", BOOTED + 1030, "the server was restarted")


def test_a_restart_with_another_version_says_so() -> None:
    [event] = seen(snapshot(1000), snapshot(10, booted=BOOTED + 1030, of=server("9.7.5"))).events()
    assert event.text == "mysql 9.7.4 was restarted as mysql 9.7.5"


def test_a_snapshot_without_a_section_hides_nothing() -> None:
    blank = snapshot(1010, status=None, variables=None)
    changed = snapshot(5, booted=BOOTED + 1015, variables=variables(innodb_old_blocks_pct="64"))
    assert {event.kind for event in seen(snapshot(1000), blank, changed).events()} == {"restart", "setting"}


def test_a_recording_of_a_server_whose_setting_was_changed_has_the_event() -> None:
    timeline = Timeline()
    timeline.look(Replay(capture("mysql-9.7/old-sublist-mended")).history, 0.0)
    assert [(event.kind, event.setting) for event in timeline.events()] == [("setting", "innodb_old_blocks_pct")]


def test_the_first_look_reads_the_whole_history_and_others_only_the_newest_snapshot() -> None:
    history = [snapshot(10), snapshot(20, variables=variables(innodb_old_blocks_pct="64")), snapshot(30)]
    timeline = Timeline()
    for _ in range(3):
        timeline.look(history, history[-1].at)
    assert texts(timeline) == ["innodb_old_blocks_pct: 37 → 64", "innodb_old_blocks_pct: 64 → 37"]


def test_a_server_that_goes_away_and_comes_back_leaves_both() -> None:
    timeline, history = Timeline(), [snapshot(10)]
    timeline.look(history, 100.0)
    timeline.look(history, 110.0, problem="cannot connect to db1:3306: Connection refused")
    timeline.look(history, 120.0, problem="access denied")
    since = [timeline.away_since]
    timeline.look(history, 260.0)
    assert [*since, timeline.away_since] == [110.0, None]
    away, back = timeline.events()
    assert (away.kind, away.at) == ("away", 110.0)
    assert away.text == "the server is away: cannot connect to db1:3306: Connection refused"
    assert (back.kind, back.at, back.text) == ("back", 260.0, "the server is back after 2 min")


def test_rules_that_are_loaded_anew_or_refused_are_events_once() -> None:
    timeline = Timeline()
    timeline.look([], 10.0, rules=24, loaded_at=1.0)
    timeline.look([], 20.0, rules=25, loaded_at=19.0)
    for now in (30.0, 40.0):
        timeline.look([], now, rules=25, loaded_at=19.0, rules_problem="a.yaml:3: no fact pool.pagse")
    assert [(event.at, event.kind, event.text) for event in timeline.events()] == [
        (19.0, "rules", "25 rules loaded anew"),
        (30.0, "rules", "rules not loaded, the old ones stay: a.yaml:3: no fact pool.pagse"),
    ]


def test_only_the_newest_events_are_kept() -> None:
    timeline = Timeline()
    for number in range(MOST_EVENTS + 10):
        timeline.look([], float(number), loaded_at=float(number))
    assert len(timeline.events()) == MOST_EVENTS
    assert timeline.events(since=MOST_EVENTS + 8)[0].at == MOST_EVENTS + 8
