from __future__ import annotations

import pytest

from advisor.ledger.entry import Changed, Outcome
from advisor.ledger.settling import settling
from advisor.observe.window import Window
from exporter.snapshot import Snapshot
from tests.advisor.building import BOOTED, pool, snapshot

PAGES = 10_000
AT = 86_400.0
"""Seconds from the server's start to the change."""


def _outcome(setting: str, before: float, after: float) -> Outcome:
    return Outcome(id="a", at=BOOTED + AT, changes=(Changed(setting=setting, before=before, after=after),))


def _window(read: float, *, free: int = 0, filled: float = 0.0, up: float = AT, ticks: int = 60) -> Window:
    """Ten minutes after a change: so many pages read a second, and free pages that go."""

    def look(tick: int) -> Snapshot:
        left = max(0, round(free - filled * 10.0 * tick))
        of = pool(size_pages=PAGES, free_pages=left, database_pages=PAGES - left, pages_read=round(read * 10 * tick))
        return snapshot(up + 10.0 * tick, booted=BOOTED + AT - up, pools=(of,))

    return Window(tuple(look(tick) for tick in range(ticks + 1)))


PCT = _outcome("innodb_old_blocks_pct", 37, 95)
SIZE = _outcome("innodb_buffer_pool_size", 128 << 20, 256 << 20)


def test_another_midpoint_settles_once_the_displaced_pages_were_read() -> None:
    settled = settling(PCT, _window(read=50.0))  # 58 % of 10,000 pages
    assert settled.warms is False
    assert settled.since == pytest.approx(BOOTED + AT + 116.0, abs=10.0)


def test_a_pool_that_reads_nothing_has_nothing_to_wait_for() -> None:
    assert settling(PCT, _window(read=0.0)).since == BOOTED + AT
    assert settling(PCT, _window(read=5.0)).since is None


def test_another_setting_displaces_nothing() -> None:
    settled = settling(_outcome("innodb_old_blocks_time", 1000, 0), _window(read=50.0))
    assert (settled.warms, settled.since) == (False, BOOTED + AT)


def test_a_larger_pool_warms_up_until_it_is_full() -> None:
    settled = settling(SIZE, _window(read=20.0, free=5_000, filled=20.0))
    assert settled.warms
    assert settled.since == pytest.approx(BOOTED + AT + 200.0, abs=10.0)  # a page cleaner keeps some free


def test_a_pool_that_is_larger_than_the_data_settles_when_it_gains_nothing() -> None:
    assert settling(SIZE, _window(read=0.0, free=5_000)).since == BOOTED + AT
    assert settling(SIZE, _window(read=2.0, free=5_000, filled=2.0)).since is None


def test_a_smaller_pool_does_not_warm_up() -> None:
    assert settling(_outcome("innodb_buffer_pool_size", 256 << 20, 128 << 20), _window(read=50.0)).warms is False


def test_a_restart_is_a_warm_up_whatever_changed() -> None:
    settled = settling(_outcome("innodb_old_blocks_time", 1000, 0), _window(read=2.0, free=9_000, filled=2.0, up=5.0))
    assert (settled.warms, settled.since) == (True, None)
