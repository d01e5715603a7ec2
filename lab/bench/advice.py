"""The CPU of the whole process with a finding standing, and scrapes while the model is fitted."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from lab.bench import exporters
from lab.bench.costs import Meter
from lab.bench.exporters import Exporter
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values
from lab.bench.rig import settle
from lab.bench.scan_load import scan_load
from lab.processes.service import NotServing
from lab.programs import mysqld_exporter
from lab.servers.sql import execute

INTERVAL, PERIOD = 10.0, 15.0
"""Seconds between two collections, and between two scrapes: the defaults of the sidecar and of many Prometheus."""
ROUND = 60.0
"""Seconds of a round: a whole number of collections and of scrapes."""
PATIENCE = 120.0
"""Seconds until the finding must be there."""
WARMING = 120.0
"""Seconds from then on that do not count: while the window is short, its rates move and the model is fitted again."""
EVERY = 0.05
"""Seconds between two scrapes while the model is fitted."""
FITTED = 30.0
"""Seconds after a change of a setting: they hold the next collections and the fit to them."""
_FINDING = b"\ninnodb_advisor_recommendation{"
_BESIDE = "mysqld_exporter"
LINES = {
    "cpu": Line("all in, a finding standing: CPU, of a core", "%", _BESIDE, Bound(most=0.5, of="value")),
    "wait": Line("scrapes while the model is fitted: the slowest", "ms"),
    "latency": Line("scrapes while the model is fitted: latency", "ms", "no fit"),
}


def measure(effort: Effort, say: Say) -> Measurement:
    """Rounds with a standing finding, then fits that a change of a setting asks for."""
    with scan_load() as server, tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-") as folder:
        exporters.create_accounts(server)
        with (
            exporters.sidecar(server, Path(folder), "--interval", f"{INTERVAL:g}s") as ours,
            exporters.peer(server, Path(folder)) as peer,
        ):
            settle(ours, peer)
            say("waiting for the finding")
            _wait_for_finding(ours)
            _scraped(ours, peer, WARMING)
            shares: dict[str, list[float]] = {ours.name: [], peer.name: []}
            for number in range(1, (rounds := effort.rounds(4, 2)) + 1):
                say(f"{ROUND:.0f} s with a finding, {number} of {rounds}")
                meters = {each.name: Meter(server, each) for each in (ours, peer)}
                _scraped(ours, peer, ROUND)
                for name, meter in meters.items():
                    spent = meter.read()
                    shares[name].append(100 * spent.cpu / spent.seconds)
            _wait_for_finding(ours)
            quiet, slow, slowest = _latencies(ours, FITTED / 3), [], []
            for number in range(1, (rounds := effort.rounds(3, 1)) + 1):
                say(f"{FITTED:.0f} s with a fit, {number} of {rounds}")
                execute(server, f"SET GLOBAL innodb_old_blocks_time = {1000 + number}")
                found = _latencies(ours, FITTED)
                slow += found
                slowest.append(max(found))
        return Measurement(
            {
                "cpu": Values(ours=tuple(shares[ours.name]), beside=tuple(shares[peer.name])),
                "wait": Values(ours=(max(slowest),)),
                "latency": Values(ours=tuple(slow), beside=tuple(quiet)),
            },
            {"MySQL": server.version, "mysqld_exporter": mysqld_exporter.version()},
        )


def _wait_for_finding(ours: Exporter) -> None:
    """Wait until a scrape shows a finding.

    Raises:
        NotServing: None came in time.
    """
    until = time.monotonic() + PATIENCE
    while _FINDING not in ours.scrape().content:
        if time.monotonic() > until:
            raise NotServing(f"no finding within {PATIENCE:.0f} s")
        time.sleep(1.0)


def _scraped(ours: Exporter, peer: Exporter, seconds: float) -> None:
    """Scrape both once a period, for this long."""
    began = time.monotonic()
    while (left := began + seconds - time.monotonic()) > 0:
        for each in (ours, peer):
            each.scrape()
        time.sleep(max(0.0, min(PERIOD - (seconds - left) % PERIOD, began + seconds - time.monotonic())))


def _latencies(ours: Exporter, seconds: float) -> list[float]:
    """Latencies of scrapes over this many seconds, milliseconds."""
    until, found = time.monotonic() + seconds, []
    while time.monotonic() < until:
        found.append(ours.scrape().seconds * 1000)
        time.sleep(EVERY)
    return found


FIGURE = Figure(
    name="advice",
    title="Advice, all in",
    about=(
        "MySQL 9.7 with a table under repeated scans beside point lookups. The sidecar collects every"
        f" {INTERVAL:g} s; it and mysqld_exporter are scraped every {PERIOD:g} s. A finding stands, and its rule asks"
        f" the model. CPU is the kernel's count for the whole process, over rounds of {ROUND:g} s that begin"
        f" {WARMING / 60:g} min after the finding. Then a setting is changed, so that the model is fitted anew, and the"
        f" sidecar is scraped every {EVERY * 1000:g} ms for {FITTED:g} s. Latencies are wall time: they depend on what"
        " else the machine does. CPU time depends on it little."
    ),
    lines=LINES,
    measure=measure,
    seconds=(560.0, 360.0),
)
