"""What advice for thousands of servers costs: `innodb-advisor fleet` and the Prometheus that it asks."""

from __future__ import annotations

import itertools
import re
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import httpx

from advisor.contract.fleet import FleetReport
from lab.bench import fleet_data
from lab.bench.exporters import COMMAND, ENVIRONMENT, SCRAPE_SECONDS, SERVING
from lab.bench.figures import Benchmark, BenchRun, Figure
from lab.processes.program import PLAIN, ChildProcess, ProgramFailed, version_of
from lab.processes.usage import cpu_seconds, memory_mib
from lab.programs import prometheus
from lab.programs.prometheus import Prometheus

CLUSTERS = {"small": 500, "medium": 1500, "large": 3000}
SHORT = {"small": 200, "medium": 100, "large": 200}
"""Servers of each cluster. They are asked one more at a time: 500, 2,000 and 5,000."""
LOAD, SHORT_LOAD = (60.0, 30.0), (15.0, 10.0)
"""Seconds of load before the scrapes that make the series, and between these two."""
READINGS = 4
"""Of the service, one right after the other."""
SERVICE_SECONDS = 1200.0
POLL, SERVICE_POLL = 0.02, 0.5
_READINGS = re.compile(r"^innodb_fleet_readings_total ([\d.e+]+)$", re.MULTILINE)


Cost = Mapping[str, float]
"""Of one run of the command: seconds (``wall``), CPU seconds of the command (``cpu``) and of Prometheus meanwhile
(``prometheus_cpu``), peaks in MiB of the command (``rss``) and of Prometheus without the pages of its files
(``prometheus``), and the findings in its report (``findings``)."""


def measure(run: BenchRun) -> None:
    """Write the fleet's series, and ask for its advice."""
    clusters = SHORT if run.short else CLUSTERS
    templates = fleet_data.templates(run, *(SHORT_LOAD if run.short else LOAD))
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-") as name:
        folder = Path(name)
        run.say(f"writing the series of {sum(clusters.values()):,} servers")
        series, samples = fleet_data.write(folder / "data", templates, clusters, time.time())
        with prometheus.running(folder, [], data=folder / "data") as watching:
            selectors = _selectors(clusters)
            without_models: dict[int, list[Cost]] = {servers: [] for servers in selectors}
            whole: list[Cost] = []
            for number in run.rounds(f"{', '.join(map(str, selectors))} servers,", 3, 2):
                for servers, selector in selectors.items():
                    without_models[servers].append(_ask(watching, servers, selector, "--model-seconds", "0"))
                if number == 1 or not run.short:
                    run.say(f"{servers:,} servers with models")
                    whole.append(_ask(watching, servers, selector))
            run.put("mapped", memory_mib(watching.pid, "VmHWM") or 0.0)
            run.say(f"the service: {READINGS} readings of {servers:,} servers")
            peak, after = _serve(watching, selector)
    _put(run, without_models, whole)
    run.put("service", peak)
    run.put("kept", after[-1], after[0])
    run.versions |= {
        "Prometheus": version_of(prometheus.command()),
        "series": f"{series:,}",
        "samples": f"{samples:,}",
        "findings": f"{whole[-1]['findings']:,}",
    }


def _put(run: BenchRun, without_models: Mapping[int, list[Cost]], whole: list[Cost]) -> None:
    """Take the values of the command's figures."""
    few, middle, many = without_models.values()
    for key in ("wall", "rss", "prometheus"):
        run.put(key, (cost[key] for cost in whole))
    for key, costs in (("whole", whole), ("cpu", many), ("middle", middle), ("few", few)):
        run.put(key, (cost["cpu"] for cost in costs), (cost["prometheus_cpu"] for cost in costs))
    run.put("flat", (cost["rss"] for cost in many), (cost["rss"] for cost in few))
    more_servers = max(without_models) - min(without_models)

    def ms_a_server(key: str) -> list[float]:
        return [(most[key] - least[key]) * 1000 / more_servers for least, most in zip(few, many, strict=True)]

    run.put("more", ms_a_server("cpu"))
    run.put("beside", ms_a_server("cpu"), ms_a_server("prometheus_cpu"))


def _selectors(clusters: Mapping[str, int]) -> dict[int, str]:
    """Selectors of the first cluster, of two, of all three, by their number of servers."""
    return {
        servers: f'cluster=~"{"|".join([*clusters][:number])}"'
        for number, servers in enumerate(itertools.accumulate(clusters.values()), 1)
    }


def _ask(watching: Prometheus, servers: int, selector: str, *options: str) -> Cost:
    """Run the command to its end.

    Raises:
        ProgramFailed: It failed, or its report is not about all servers, or has no findings.
    """
    before, began = cpu_seconds(watching.pid), time.monotonic()
    cpu, mib, prometheus_mib = 0.0, 0.0, 0.0
    command = [*_command(watching, selector), "--output", "json", *options]
    with ChildProcess("innodb-advisor fleet", command, ENVIRONMENT) as process:
        while not process.ended(POLL):
            prometheus_mib = max(prometheus_mib, memory_mib(watching.pid, "RssAnon") or 0.0)
            cpu, mib = cpu_seconds(process.pid), memory_mib(process.pid, "VmHWM") or mib
        seconds = time.monotonic() - began
        output = process.output
        if process.status not in {0, 1}:
            raise process.failure(f"ended with status {process.status}")
    report = FleetReport.model_validate_json(output[output.index("{") :])
    if len(report.servers) != servers or report.not_asked or not report.findings:
        raise ProgramFailed(
            f"the report has {len(report.servers)} of {servers} servers, {len(report.findings)} findings,"
            f" and not asked: {report.not_asked}"
        )
    return {
        "wall": seconds,
        "cpu": cpu,
        "prometheus_cpu": cpu_seconds(watching.pid) - before,
        "rss": mib,
        "prometheus": prometheus_mib,
        "findings": len(report.findings),
    }


def _serve(watching: Prometheus, selector: str) -> tuple[float, list[float]]:
    """Memory of the service, MiB: at its peak, and after each of READINGS readings.

    Raises:
        ProgramFailed: It does not come to them.
    """
    command = [*_command(watching, selector), "--listen", "127.0.0.1:0", "--every", "5s", "--model-seconds", "3"]
    after: list[float] = []
    until = time.monotonic() + SERVICE_SECONDS
    with ChildProcess("innodb-advisor fleet", command, ENVIRONMENT, listening=SERVING) as service:
        while len(after) < READINGS:
            text = httpx.get(f"http://127.0.0.1:{service.port}/metrics", timeout=SCRAPE_SECONDS, **PLAIN).text
            readings = _READINGS.search(text)
            if readings and float(readings[1]) > len(after):
                after.append(memory_mib(service.pid) or 0.0)
            if time.monotonic() > until:
                raise ProgramFailed(f"{len(after)} readings within {SERVICE_SECONDS:.0f} s:\n{text[:2000]}")
            time.sleep(SERVICE_POLL)
        return memory_mib(service.pid, "VmHWM") or 0.0, after


def _command(watching: Prometheus, selector: str) -> list[str]:
    return [*COMMAND, "fleet", "--prometheus", watching.url, "--selector", selector]


_ALL = "5,000 servers (short: 500)"
BENCHMARK = Benchmark(
    name="fleet",
    title="The fleet",
    method=(
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
    figures={
        "wall": Figure(f"{_ALL}: wall time", "s", most=60.0),
        "rss": Figure(f"{_ALL}: memory of the command, at its peak", "MiB", most=512.0),
        "prometheus": Figure(f"{_ALL}: memory of Prometheus without mapped files, at its peak", "MiB", most=600.0),
        "mapped": Figure(f"{_ALL}: memory of Prometheus with them, at its peak", "MiB"),
        "whole": Figure(f"{_ALL}: CPU of the command", "s", "Prometheus", paired=True),
        "cpu": Figure(f"{_ALL}: CPU without models", "s", "Prometheus", paired=True),
        "middle": Figure("2,000 servers (short: 300): CPU without models", "s", "Prometheus", paired=True),
        "few": Figure("500 servers (short: 200): CPU without models", "s", "Prometheus", paired=True),
        # The share of a server more of the 60 s, on one core.
        "more": Figure("a server more: CPU without models", "ms", most=12.0),
        # Other work on the machine slows both.
        "beside": Figure("the same, by that of Prometheus", "ms", "Prometheus", most_ratio=4.0, paired=True),
        "flat": Figure(f"{_ALL}: memory of the command without models", "MiB", "500 (short: 200)", most_ratio=1.5),
        "service": Figure(f"{_ALL}: memory of the service, at its peak", "MiB", most=512.0),
        # Nothing of a reading stays but its report.
        "kept": Figure(f"{_ALL}: memory of the service after its last reading", "MiB", "the first", most_ratio=1.25),
    },
    measure=measure,
    seconds=(1200.0, 180.0),
)
