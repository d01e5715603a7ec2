"""The clock of the sidecar's machine is set forward or back while it runs."""

from __future__ import annotations

import time

import pytest

from advisor.observe.window import Window
from exporter.connection.target import from_dsn
from exporter.sampling import metrics
from exporter.sampling.metrics import SPECS
from exporter.sampling.sampler import Sampler
from lab.servers import PrivateServer

HOUR = 3600.0


class Clock:
    """The machine's clock with an offset."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def served(sampler: Sampler) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The content of /metrics."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in metrics.families(sampler.latest)
        for sample in family.samples
    }


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
@pytest.mark.parametrize("ahead", [HOUR, -HOUR, 20.0, -2.0], ids=["an hour on", "an hour back", "20 s on", "2 s back"])
async def test_setting_the_clock_makes_no_number_wrong(server: PrivateServer, ahead: float) -> None:
    clock = Clock()
    sampler = Sampler(from_dsn(server.dsn), interval=0.1, clock=clock)
    try:
        for _ in range(3):
            await sampler.collect()
        before = served(sampler)
        clock.ahead = ahead
        for _ in range(3):
            snapshot = await sampler.collect(max_age=0.05)
            assert abs(snapshot.at - clock()) < HOUR / 2  # no time from the other clock
            glance = await sampler.glance(max_age=0.05)
            assert all(glance.at - at <= HOUR / 2 for at in glance.read_at.values())
        after = served(sampler)
        counters = {name for name in SPECS if SPECS[name].kind == "counter"}
        for (name, labels), value in before.items():
            if name in counters and (name, labels) in after:
                assert value <= after[name, labels] < value + HOUR, name
        assert all(value >= 0 for (name, _), value in after.items() if name.endswith("_age_seconds"))
        seconds = ("innodb_parallel_read_thread_seconds_total", ())
        assert after.get(seconds, 0.0) <= before.get(seconds, 0.0) + HOUR / 2
        window = Window.of(sampler.history, HOUR)
        assert 0 <= window.seconds < HOUR / 2
        ats = [snapshot.at for snapshot in window.snapshots]
        assert ats == sorted(ats)
    finally:
        await sampler.close()


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
async def test_setting_the_clock_back_does_not_stop_collections(server: PrivateServer) -> None:
    clock = Clock()
    sampler = Sampler(from_dsn(server.dsn), interval=0.1, clock=clock)
    try:
        await sampler.collect()
        clock.ahead = -HOUR
        first = await sampler.collect(max_age=1.0)
        assert first.at == pytest.approx(clock(), abs=HOUR / 2)
        second = await sampler.collect(max_age=0.0)
        assert second.at > first.at
        clock.ahead = 0.0
        third = await sampler.glance(max_age=1.0)
        assert third.at == pytest.approx(clock(), abs=HOUR / 2)
    finally:
        await sampler.close()
