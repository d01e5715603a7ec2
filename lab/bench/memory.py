"""The sidecar's memory after many scrapes, with a full history."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from lab.bench import rig
from lab.bench.exporters import settle, sidecar
from lab.bench.figures import Benchmark, BenchRun, Figure

SCRAPES, SCRAPES_SHORT = 10_000, 1_000
INTERVAL, SNAPSHOTS = 0.1, 361
"""Seconds between two collections, and the length of the history: as many snapshots as an hour at 10 s has."""
READINGS = 100
"""Readings of the resident memory, evenly spaced."""
FILLING = 1.3
"""Factor over the sum of the history's intervals: collections take time, too."""


def measure(run: BenchRun) -> None:
    """Fill the history, then scrape as fast as it answers."""
    history = ("--interval", f"{INTERVAL:g}s", "--history", f"{(SNAPSHOTS - 1) * INTERVAL:g}s")
    with rig.under_scans(run) as server, sidecar(server, *history) as ours:
        settle(ours)
        run.put("idle", ours.memory_mib("RssAnon"))
        run.put("start", ours.memory_mib())
        seconds = SNAPSHOTS * INTERVAL * FILLING
        run.say(f"{seconds:.0f} s until the history is full")
        time.sleep(seconds)
        run.put("full", ours.memory_mib())
        scrapes = SCRAPES_SHORT if run.short else SCRAPES
        readings: list[float] = []
        latencies: list[float] = []
        for number in range(1, READINGS + 1):
            latencies += [ours.get().ms for _ in range(scrapes // READINGS)]
            readings.append(ours.memory_mib())
            run.say(f"{number * scrapes // READINGS:,} of {scrapes:,} scrapes: {readings[-1]:.1f} MiB")
        run.put("rss", readings[-READINGS // 10 :])
        run.put("anonymous", ours.memory_mib("RssAnon"))
        run.put("growth", growth(readings))
        run.put("latency", latencies)


def growth(readings: Sequence[float]) -> float:
    """Median of the last tenth of the readings, less the median of the tenth in the middle."""
    tenth, middle = max(1, len(readings) // 10), len(readings) // 2
    return statistics.median(readings[-tenth:]) - statistics.median(readings[middle : middle + tenth])


_SCRAPES = f"{SCRAPES:,} scrapes (short: {SCRAPES_SHORT:,})"
BENCHMARK = Benchmark(
    name="memory",
    title="Memory",
    method=(
        "MySQL 9.7 with a table under repeated scans beside point lookups, so that rules fire and models run."
        f" The sidecar collects every {INTERVAL:g} s into a shorter history, which soon holds"
        f" {SNAPSHOTS} snapshots, as many as an hour at 10 s. Then it is scraped {SCRAPES:,} times"
        f" ({SCRAPES_SHORT:,} in the short form) without pauses. Resident memory is anonymous memory and pages of"
        " files, which the kernel takes back where memory is short. The growth is the median of the last tenth of the"
        " readings less the median of the tenth in the middle."
    ),
    figures={
        "idle": Figure("after the start, nobody asks: anonymous memory (RssAnon)", "MiB", most=64.0),
        "start": Figure("the same: resident memory (VmRSS), with the libraries' files", "MiB"),
        "anonymous": Figure(f"{_SCRAPES}, history full: anonymous memory", "MiB"),
        "rss": Figure(f"{_SCRAPES}, history full: resident memory", "MiB", most=128.0),
        "growth": Figure(f"{_SCRAPES}, history full: growth in the last half", "MiB", most=1.0),
        "full": Figure("resident memory when the history has filled", "MiB"),
        "latency": Figure(f"{_SCRAPES} one after the other: latency", "ms"),
    },
    measure=measure,
    seconds=(260.0, 85.0),
)
