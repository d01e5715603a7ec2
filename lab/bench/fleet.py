"""What advice for thousands of servers costs: `innodb-advisor fleet` and the Prometheus that it asks."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from advisor.contract.fleet import FleetReport
from lab.bench import fleet_data
from lab.bench.exporters import SCRAPE_SECONDS
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values
from lab.packages import cache
from lab.processes import child
from lab.processes.service import PLAIN, NotServing, run_service
from lab.processes.usage import cpu_seconds, memory_mib
from lab.programs import mysqld_exporter, prometheus
from lab.programs.prometheus import Prometheus

CLUSTERS = {"small": 500, "medium": 1500, "large": 3000}
SHORT = {"small": 200, "medium": 100, "large": 200}
"""Servers of each cluster. They are asked one more at a time: 500, 2,000 and 5,000."""
LOAD, SHORT_LOAD = (60.0, 30.0), (15.0, 10.0)
"""Seconds of load before the scrapes that make the series, and between these two."""
MOST_SECONDS, MOST_MIB, MOST_PROMETHEUS_MIB = 60.0, 512.0, 600.0
MOST_MS = 12.0
"""CPU of a server more: its share of `MOST_SECONDS` on one core."""
_MORE = Bound(most=MOST_MS, of="value")
_WALL = Bound(most=MOST_SECONDS, of="value")
_PROMETHEUS = Bound(most=MOST_PROMETHEUS_MIB, of="value")
MOST_BESIDE = 4.0
"""CPU of a server more by that of the Prometheus that answers it: other work on the machine slows both."""
MOST_GROWTH = 1.25
"""Memory of the service after its last reading, by that after its first: nothing of a reading stays but its report."""
READINGS = 4
"""Of the service, one right after the other."""
SERVICE_SECONDS = 1200.0
POLL, SERVICE_POLL = 0.02, 0.5
_ALL = "5,000 servers (short: 500)"
_ENVIRONMENT = {"PYTHONPATH": str(cache.REPOSITORY)}
_SERVING = re.compile(r"serving on http://127\.0\.0\.1:(\d+)/")
_READINGS = re.compile(r"^innodb_fleet_readings_total ([\d.e+]+)$", re.MULTILINE)
LINES = {
    "wall": Line(f"{_ALL}: wall time", "s", "", _WALL),
    "rss": Line(f"{_ALL}: memory of the command, at its peak", "MiB", "", Bound(most=MOST_MIB, of="value")),
    "prometheus": Line(f"{_ALL}: memory of Prometheus without mapped files, at its peak", "MiB", "", _PROMETHEUS),
    "mapped": Line(f"{_ALL}: memory of Prometheus with them, at its peak", "MiB"),
    "whole": Line(f"{_ALL}: CPU of the command", "s", "Prometheus"),
    "cpu": Line(f"{_ALL}: CPU without models", "s", "Prometheus"),
    "middle": Line("2,000 servers (short: 300): CPU without models", "s", "Prometheus"),
    "few": Line("500 servers (short: 200): CPU without models", "s", "Prometheus"),
    "more": Line("a server more: CPU without models", "ms", "", _MORE),
    "beside": Line("the same, by that of Prometheus", "ms", "Prometheus", Bound(most=MOST_BESIDE)),
    "flat": Line(f"{_ALL}: memory of the command without models", "MiB", "500 (short: 200)", Bound(most=1.5)),
    "service": Line(f"{_ALL}: memory of the service, at its peak", "MiB", "", Bound(most=MOST_MIB, of="value")),
    "kept": Line(f"{_ALL}: memory of the service after its last reading", "MiB", "the first", Bound(most=MOST_GROWTH)),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """One run of the command.

    Attributes:
        seconds: Wall time.
        cpu: CPU seconds of the command.
        prometheus_cpu: CPU seconds of Prometheus meanwhile.
        mib: Resident memory of the command at its peak.
        prometheus_mib: Resident memory of Prometheus without the pages of its files, at its peak.
        report: What it said.
    """

    seconds: float
    cpu: float
    prometheus_cpu: float
    mib: float
    prometheus_mib: float
    report: FleetReport


def measure(effort: Effort, say: Say) -> Measurement:
    """Write the fleet's series, and ask for its advice."""
    clusters = SHORT if effort.short else CLUSTERS
    made = fleet_data.templates(say, *(SHORT_LOAD if effort.short else LOAD))
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-") as name:
        folder = Path(name)
        say(f"writing the series of {sum(clusters.values()):,} servers")
        written = fleet_data.write(folder / "data", made, clusters, time.time())
        with prometheus.running(folder, [], data=folder / "data") as served:
            found: dict[int, list[Reading]] = {}
            whole: list[Reading] = []
            rounds = effort.rounds(3, 2)
            for number in range(1, rounds + 1):
                for servers, selector in _growing(clusters).items():
                    say(f"{servers:,} servers, {number} of {rounds}")
                    found.setdefault(servers, []).append(read(served, folder, selector, "--model-seconds", "0"))
                    _check(found[servers][-1].report, servers)
                if number == 1 or not effort.short:
                    say(f"{servers:,} servers with models")
                    whole.append(read(served, folder, selector))
                    _check(whole[-1].report, servers)
            mapped = memory_mib(served.pid, "VmHWM")
            say(f"the service: {READINGS} readings of {servers:,} servers")
            peak, after = serve(served, folder, selector)
    few, middle, all_ = found.values()
    pairs = [*zip(few, all_, strict=True)]
    growth = tuple(_a_server_more(least, most, most.cpu - least.cpu) for least, most in pairs)
    answering = tuple(_a_server_more(*pair, pair[1].prometheus_cpu - pair[0].prometheus_cpu) for pair in pairs)
    return Measurement(
        {
            "wall": Values(ours=tuple(each.seconds for each in whole)),
            "rss": Values(ours=tuple(each.mib for each in whole)),
            "prometheus": Values(ours=tuple(each.prometheus_mib for each in whole)),
            "mapped": Values(ours=(mapped or 0.0,)),
            "whole": _beside(whole),
            "cpu": _beside(all_),
            "middle": _beside(middle),
            "few": _beside(few),
            "more": Values(ours=growth),
            "beside": Values(ours=growth, beside=answering, paired=True),
            "flat": Values(ours=tuple(each.mib for each in all_), beside=tuple(each.mib for each in few)),
            "service": Values(ours=(peak,)),
            "kept": Values(ours=after[-1:], beside=after[:1]),
        },
        {
            "Prometheus": prometheus.version(),
            "mysqld_exporter": mysqld_exporter.version(),
            "series": f"{written.series:,}",
            "samples": f"{written.samples:,}",
            "findings": f"{len(whole[-1].report.findings):,}",
        },
    )


def _a_server_more(few: Reading, many: Reading, seconds: float) -> float:
    """Milliseconds for each of the servers that the second reading has more, of so many seconds for all of them."""
    return seconds * 1000 / (len(many.report.servers) - len(few.report.servers))


def _growing(clusters: Mapping[str, int]) -> dict[int, str]:
    """Selectors of the first cluster, of two, of all three, by their number of servers."""
    names = list(clusters)
    return {
        sum(clusters[name] for name in names[:count]): f'cluster=~"{"|".join(names[:count])}"'
        for count in range(1, len(names) + 1)
    }


def _check(report: FleetReport, servers: int) -> None:
    """Raise NotServing unless the report is about all servers, with findings: else the figure would be of nothing."""
    if len(report.servers) != servers or report.not_asked or not report.findings:
        raise NotServing(
            f"the report has {len(report.servers)} of {servers} servers, {len(report.findings)} findings,"
            f" and not asked: {report.not_asked}"
        )


def _beside(readings: list[Reading]) -> Values:
    return Values(
        ours=tuple(each.cpu for each in readings), beside=tuple(each.prometheus_cpu for each in readings), paired=True
    )


def read(served: Prometheus, folder: Path, selector: str, *options: str) -> Reading:
    """Run the command to its end.

    Args:
        served: Whom it asks.
        folder: For its output.
        selector: Of the servers.
        options: More of them.

    Raises:
        NotServing: It failed; the text ends with its output.
    """
    log = folder / "fleet.log"
    log.unlink(missing_ok=True)
    before, began = cpu_seconds(served.pid), time.monotonic()
    process = child.spawn([*_command(served, selector), "--output", "json", *options], _ENVIRONMENT, log)
    cpu, mib, prometheus_mib = 0.0, 0.0, 0.0
    while process.poll() is None:
        prometheus_mib = max(prometheus_mib, memory_mib(served.pid, "RssAnon") or 0.0)
        cpu, mib = cpu_seconds(process.pid), memory_mib(process.pid, "VmHWM") or mib
        time.sleep(POLL)
    seconds = time.monotonic() - began
    said = log.read_text(encoding="utf-8", errors="replace")
    if process.returncode not in {0, 1}:
        raise NotServing(f"innodb-advisor fleet ended with status {process.returncode}:\n{said[-4000:]}")
    report = FleetReport.model_validate_json(said[said.index("{") :])
    return Reading(seconds, cpu, cpu_seconds(served.pid) - before, mib, prometheus_mib, report)


def serve(served: Prometheus, folder: Path, selector: str) -> tuple[float, tuple[float, ...]]:
    """Memory of the service, MiB: at its peak, and after each of READINGS readings.

    Raises:
        NotServing: It does not come to them.
    """
    command = [*_command(served, selector), "--listen", "127.0.0.1:0", "--every", "5s", "--model-seconds", "3"]
    after: list[float] = []
    until = time.monotonic() + SERVICE_SECONDS
    with run_service("innodb-advisor fleet", command, _ENVIRONMENT, folder / "service.log", _SERVING) as service:
        while len(after) < READINGS:
            text = httpx.get(f"http://127.0.0.1:{service.port}/metrics", timeout=SCRAPE_SECONDS, **PLAIN).text
            readings = _READINGS.search(text)
            if readings and float(readings[1]) > len(after):
                after.append(memory_mib(service.pid, "VmRSS") or 0.0)
            if time.monotonic() > until:
                raise NotServing(f"{len(after)} readings within {SERVICE_SECONDS:.0f} s:\n{text[:2000]}")
            time.sleep(SERVICE_POLL)
        return memory_mib(service.pid, "VmHWM") or 0.0, tuple(after)


def _command(served: Prometheus, selector: str) -> list[str]:
    return [sys.executable, "-m", "advisor.cli", "fleet", "--prometheus", served.url, "--selector", selector]


FIGURE = Figure(
    name="fleet",
    title="The fleet",
    about=(
        "Debian's Prometheus serves blocks with an hour of 5,000 servers (500 in the short form), scraped every 15 s,"
        " and a recorded series of days. Every server has the series of real scrapes: those of mysqld_exporter with all"
        " flags, and on a tenth of them the sidecar's too, of a MySQL 9.7 with 13 tables. A tenth of the servers is"
        " under scans, lookups and counts, of which rules have findings. The others are under lookups in a table that"
        " the pool holds, which settle the rules on tables without these. `innodb-advisor fleet` asks about one"
        " cluster, two, and all, without models, then about all with the models that its budget allows; with `--listen`"
        " four times about all. CPU and memory are the kernel's counts for each process. Prometheus maps its blocks:"
        " the kernel drops these pages where memory is short, so the bound is on the memory without them, and the peak"
        " with them is beside it. The short form has no bound on wall time, which other work on the machine lengthens."
    ),
    lines=LINES,
    measure=measure,
    seconds=(1200.0, 180.0),
)
