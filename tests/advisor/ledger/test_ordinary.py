"""Six hours of ordinary work, whose rates swing."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping

from advisor.ledger.entry import Entry, Outcome, Result
from advisor.ledger.ledger import Ledger
from tests.advisor.ledger.load import INTERVAL, Done, Load

HOURS = 6
BASE = {"items": (1_000.0, 0.02), "orders": (300.0, 0.3), "customers": (5_000.0, 0.001), "log": (50.0, 0.0)}
"""Rows a second, and pages read for a row."""
CHANGED = range(1_000, 2_160, 370)
"""Changes come every hour, after some hours without any: ticks."""


def _ordinary(chance: random.Random) -> Iterator[Mapping[str, Done]]:
    """Day and night, bursts, reads that drift, and batch jobs that evict pages of others."""
    bursts: list[tuple[str, int, float]] = []
    jobs: list[tuple[int, float]] = []
    drift = dict.fromkeys(BASE, 0.0)
    for tick in range(round(HOURS * 3600 / INTERVAL)):
        if chance.random() < 1 / 200:
            bursts.append((chance.choice(list(BASE)), tick + chance.randint(6, 120), chance.uniform(1.3, 4.0)))
        if chance.random() < 1 / 400:
            jobs.append((tick + chance.randint(12, 150), chance.uniform(200.0, 3_000.0)))
        bursts, jobs = [burst for burst in bursts if burst[1] > tick], [job for job in jobs if job[0] > tick]
        batch = sum(job[1] for job in jobs)
        day = 0.55 + 0.45 * math.sin(tick * INTERVAL / 3600.0 * 2.0 * math.pi / HOURS)
        done = {}
        for name, (rate, misses) in BASE.items():
            drift[name] = 0.995 * drift[name] + chance.gauss(0.0, 0.01)
            burst = math.prod(burst[2] for burst in bursts if burst[0] == name)
            rows = rate * day * burst * chance.uniform(0.8, 1.2)
            read = rows * min(1.0, misses * (1.0 + batch / 1_000.0) * chance.uniform(0.6, 1.6) * math.exp(drift[name]))
            done[name] = Done(rows=rows, read=read, waited=rows * 3e-5 + read * 2e-4 * chance.uniform(0.7, 1.5))
        if batch:
            done["archive"] = Done(scanned=50.0 * batch, read=batch, waited=2e-4 * batch * chance.uniform(0.7, 1.5))
        yield done


def test_six_hours_tell_of_no_harm_though_settings_change_that_have_no_effect() -> None:
    load, ledger, entries = Load(), Ledger(), list[Entry]()
    for tick, done in enumerate(_ordinary(random.Random(3))):  # noqa: S311 - noise
        if tick in CHANGED:
            assert entries or tick == CHANGED[0], "hours without a change tell nothing"
            load.settings["innodb_io_capacity"] = str(tick)
        load.go_on(done)
        ledger, new = ledger.observe(load.history, None)
        entries += new
    results = [outcome.result for outcome in ledger.outcomes.values()]
    assert len(results) == len(CHANGED)
    assert Result.UNPROMISED in results, "some could be compared"
    assert [entry for entry in entries if isinstance(entry, Outcome) and entry.harm] == []
