"""The sidecar's memory after many scrapes, with a full history."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lab.bench import exporters
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values
from lab.bench.rig import settle
from lab.bench.scan_load import scan_load

SCRAPES, SCRAPES_SHORT = 10_000, 1_000
INTERVAL, SNAPSHOTS = 0.1, 361
"""Seconds between two collections, and the length of the history: as many snapshots as an hour at 10 s has."""
READINGS = 100
"""Readings of the resident memory, evenly spaced."""
FILLING = 1.3
"""Factor over the sum of the history's intervals: collections take time, too."""
_AFTER = "10,000 scrapes (short: 1,000), history full"
LINES = {
    "rss": Line(f"{_AFTER}: resident memory", "MiB", "", Bound(most=128.0, of="value")),
    "growth": Line(f"{_AFTER}: growth in the last half", "MiB", "", Bound(most=1.0, of="value")),
    "start": Line("resident memory after the start", "MiB"),
    "full": Line("resident memory when the history has filled", "MiB"),
    "latency": Line("10,000 scrapes (short: 1,000) one after the other: latency", "ms"),
}


def measure(effort: Effort, say: Say) -> Measurement:
    """Fill the history, then scrape as fast as it answers."""
    with scan_load() as server, tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-") as folder:
        exporters.create_accounts(server)
        history = ("--interval", f"{INTERVAL:g}s", "--history", f"{(SNAPSHOTS - 1) * INTERVAL:g}s")
        with exporters.sidecar(server, Path(folder), *history) as ours:
            settle(ours)
            start = ours.rss_mib()
            seconds = SNAPSHOTS * INTERVAL * FILLING
            say(f"{seconds:.0f} s until the history is full")
            time.sleep(seconds)
            full = ours.rss_mib()
            scrapes = SCRAPES_SHORT if effort.short else SCRAPES
            readings, latencies = [], []
            for number in range(1, READINGS + 1):
                latencies += [ours.scrape().seconds * 1000 for _ in range(scrapes // READINGS)]
                readings.append(ours.rss_mib())
                if number % 10 == 0:
                    say(f"{number * scrapes // READINGS:,} of {scrapes:,} scrapes: {readings[-1]:.1f} MiB")
        return Measurement(
            {
                "rss": Values(ours=tuple(readings[-READINGS // 10 :])),
                "growth": Values(ours=(growth(readings),)),
                "start": Values(ours=(start,)),
                "full": Values(ours=(full,)),
                "latency": Values(ours=tuple(latencies)),
            },
            {"MySQL": server.version},
        )


def growth(readings: Sequence[float]) -> float:
    """Median of the last tenth of the readings, less the median of the tenth in the middle."""
    tenth, middle = max(1, len(readings) // 10), len(readings) // 2
    return statistics.median(readings[-tenth:]) - statistics.median(readings[middle : middle + tenth])


FIGURE = Figure(
    name="memory",
    title="Memory",
    about=(
        "MySQL 9.7 with a table under repeated scans beside point lookups, so that rules fire and models run."
        f" The sidecar collects every {INTERVAL:g} s into a shorter history, which soon holds"
        f" {SNAPSHOTS} snapshots, as many as an hour at 10 s. Then it is scraped {SCRAPES:,} times"
        f" ({SCRAPES_SHORT:,} in the short form) without pauses. The growth is the median of the last tenth of the"
        " readings less the median of the tenth in the middle."
    ),
    lines=LINES,
    measure=measure,
    seconds=(260.0, 85.0),
)
