"""The report of docs/fleet.md: three real servers under load, their exporters, one Prometheus, one reading.

`python -m lab.fleet_report` takes eight minutes and writes lab/records/fleet.json, which `python -m tools.docs` shows.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from advisor.contract.fleet import FleetReport
from advisor.fleet.progress import Progress
from advisor.fleet.reading import ReadingOptions, read
from advisor.rules.rulebook import Rulebook
from lab import demo, servers
from lab.bench import exporters
from lab.harness.watch import RULES_FOLDER
from lab.programs import mysqld_exporter, prometheus

RECORD = Path(__file__).parent / "records" / "fleet.json"
WINDOW_SECONDS = 600.0
_SERVERS = {"db-1": "mysql-9.7", "db-2": "mariadb-11.8", "db-3": "mysql-9.7"}
_OPTIONS = {"innodb-buffer-pool-size": "128M", "performance-schema": "ON"}
_SHARE = 2
_SCRAPE_SECONDS = 5.0
_WATCHED_SECONDS = 330.0
"""Half of the window: what is there of it is judged, as after a start of the exporters."""


def main() -> None:
    """Make the record."""
    servers.interrupt_on_signals()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        jobs = [_job(stack, name, program) for name, program in _SERVERS.items()]
        started = stack.enter_context(prometheus.running(folder, jobs, interval=_SCRAPE_SECONDS))
        demo.say(f"Prometheus: {started.url}; in {_WATCHED_SECONDS:.0f} s the fleet is read")
        time.sleep(_WATCHED_SECONDS)
        options = ReadingOptions(started.url, window=WINDOW_SECONDS, model_seconds=60.0)
        report: FleetReport = asyncio.run(read(options, Rulebook(RULES_FOLDER).rule_set, Progress()))
    RECORD.write_text(report.model_dump_json(indent=1, by_alias=True) + "\n", encoding="utf-8")


def _job(stack: ExitStack, name: str, program: str) -> dict[str, Any]:
    """A server under load and its exporter: db-1 has the sidecar, db-2 all flags of mysqld_exporter, db-3 few."""
    server = stack.enter_context(servers.start(program, _OPTIONS))
    stack.enter_context(demo.load(server, scanned=demo.SCANNED_PAGES // _SHARE, hot=demo.HOT_PAGES // _SHARE))
    if name == "db-1":
        port = stack.enter_context(exporters.sidecar(server, "--external-url", "https://db-1.example.com")).port
    else:
        flags = mysqld_exporter.ALL_FLAGS if name == "db-2" else ()
        port = stack.enter_context(exporters.peer(server, *flags)).port
    labels = {"cluster": "eu", "namespace": "shop", "pod": name}
    return {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": labels}]}


if __name__ == "__main__":
    main()
