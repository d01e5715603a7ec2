"""The fleet is read at an interval, and what was read last stays while Prometheus is away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from advisor.contract.fleet import FleetReport
from advisor.fleet.client import QueryError
from advisor.fleet.progress import Progress
from advisor.fleet.watch import FleetWatch
from tests.advisor.fleet import reports

REPORT = reports.of("mysql-9.7/repeated-scan")


async def reading(progress: Progress) -> FleetReport:
    with progress.during("inventory"):
        progress.queries["answered"] += 1
    return REPORT


async def away(progress: Progress) -> FleetReport:
    progress.queries["unreachable"] += 1
    raise QueryError("cannot connect to 127.0.0.1:9090: Connection refused")


async def broken(_: Progress) -> FleetReport:
    raise ZeroDivisionError


class Fleet:
    """What a reading finds, and the time."""

    def __init__(self) -> None:
        self.read: Callable[[Progress], Awaitable[FleetReport]] = reading
        self.now = reports.AT + 60
        self.watch = FleetWatch(self._read, 300, clock=lambda: self.now)

    async def _read(self, progress: Progress) -> FleetReport:
        return await self.read(progress)

    async def look(self, read: Callable[[Progress], Awaitable[FleetReport]], after: float = 0) -> bool:
        self.read, self.now = read, self.now + after
        return await self.watch.look()


async def test_a_report_stays_while_prometheus_is_away_and_says_since_when() -> None:
    fleet = Fleet()
    assert await fleet.look(reading)
    assert (fleet.watch.report, fleet.watch.age, fleet.watch.stale) == (REPORT, 60, "")
    assert not await fleet.look(away, after=300)
    since = fleet.now
    assert not await fleet.look(away, after=30)
    assert fleet.watch.report is REPORT
    assert fleet.watch.age == 390
    assert fleet.watch.problem_since == since
    assert fleet.watch.stale == (
        "no new report since 2025-11-23 12:06:00 UTC: cannot connect to 127.0.0.1:9090: Connection refused"
    )
    assert await fleet.look(reading, after=30)
    assert fleet.watch.stale == ""
    assert fleet.watch.queries == {"answered": 2, "unreachable": 2}
    assert (fleet.watch.readings, fleet.watch.failures) == (2, 2)
    assert set(fleet.watch.seconds) == {"inventory"}


async def test_a_defect_is_logged_in_full_and_told_in_general(caplog: pytest.LogCaptureFixture) -> None:
    fleet = Fleet()
    assert not await fleet.look(broken)
    assert fleet.watch.stale.endswith("an unexpected error; the log has the details")
    assert "ZeroDivisionError" in caplog.text
    assert await fleet.look(reading)


async def test_a_trouble_that_lasts_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    fleet = Fleet()
    for _ in range(3):
        await fleet.look(away)
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1


class Stopped(Exception):
    """The test has seen enough."""


async def pauses(read: Callable[[Progress], Awaitable[FleetReport]], takes: float, *, every: float) -> list[float]:
    """Seconds between three readings, of which each takes so many."""
    now, waited = 0.0, list[float]()

    async def timed(progress: Progress) -> FleetReport:
        nonlocal now
        now += takes
        return await read(progress)

    async def pause(seconds: float) -> None:
        nonlocal now
        now += seconds
        waited.append(seconds)
        if len(waited) == 3:
            raise Stopped

    with pytest.raises(Stopped):
        await FleetWatch(timed, every, ticks=lambda: now, pause=pause).run()
    return waited


@pytest.mark.parametrize(("takes", "waits"), [(10, 290), (300, 0), (400, 0)])
async def test_readings_begin_at_the_interval_and_a_long_one_delays_the_next(takes: float, waits: float) -> None:
    assert await pauses(reading, takes, every=300) == [waits] * 3


@pytest.mark.parametrize(("every", "waits"), [(300, 28), (20, 18)])
async def test_what_failed_is_tried_again_sooner_than_the_interval(every: float, waits: float) -> None:
    assert await pauses(away, 2, every=every) == [waits] * 3
