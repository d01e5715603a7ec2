"""Counters that wrapped below 0, or were reset while the sidecar ran."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from advisor.advice import evaluation
from advisor.observe.window import Window
from advisor.rules.rulebook import Rulebook, builtin_directory
from exporter.recording.file import replay
from exporter.sampling import metrics
from lab.servers import PrivateServer
from tests.advisor.building import REPOSITORY
from tests.faults.guard import Guard, ask
from tests.waiting import wait_for

Guarded = Callable[..., Guard]
WRAPPED = {"-1 unsigned": 2**64 - 1, "-1": -1, "as text": str(2**64 - 7), "below 0 as text": "-3"}
CAPTURES = ("mysql-9.7/repeated-scan", "mariadb-10.11/change-buffer-merges")


def altered(recording: Path, value: Any, into: Path) -> Path:
    """The recording, with each integer that the server returned replaced by ``value``."""

    def line(text: str) -> Any:
        read = json.loads(text)
        for result in read.get("results", ()):
            result["rows"] = [[value if _whole(cell) else cell for cell in row] for row in result["rows"]]
        return read

    with gzip.open(recording, "rt") as source, gzip.open(into, "wt") as out:
        for text in source:
            out.write(json.dumps(line(text)) + "\n")
    return into


def _whole(cell: object) -> bool:
    return isinstance(cell, int) or (isinstance(cell, str) and cell.isdecimal())


@pytest.mark.parametrize("capture", CAPTURES)
@pytest.mark.parametrize("value", WRAPPED.values(), ids=WRAPPED)
def test_a_wrapped_negative_number_is_not_served(capture: str, value: Any, tmp_path: Path) -> None:
    recording = REPOSITORY / "tests" / "captures" / capture / "recording.jsonl.gz"
    snapshots = list(replay(altered(recording, value, tmp_path / "altered.jsonl.gz")))
    assert snapshots
    served = [sample for family in metrics.families(snapshots[-1]) for sample in family.samples]
    assert any(sample.name == "innodb_up" for sample in served)
    settings = ("innodb_setting", "innodb_buffer_pool_size_bytes", "innodb_page_size_bytes")  # not counted
    assert not [sample for sample in served if not 0 <= sample.value < 2**63 and not sample.name.startswith(settings)]
    advice = evaluation.advise(Rulebook(builtin_directory()).rules, Window.of(snapshots, 3600))
    assert not advice.failed


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
def test_truncated_summaries_give_no_negative_rate(server: PrivateServer, guarded: Guarded) -> None:
    ask(
        server,
        "CREATE DATABASE IF NOT EXISTS counted",
        "CREATE TABLE IF NOT EXISTS counted.t (id INT PRIMARY KEY, n INT) ENGINE=InnoDB",
        "INSERT IGNORE INTO counted.t VALUES (1, 1), (2, 2), (3, 3)",
        *["SELECT SUM(n) FROM counted.t"] * 20,
    )
    guard = guarded(server)
    guard.well()
    scanned = {"schema": "counted", "table": "t"}
    guard.until(lambda scrape: (scrape.get("innodb_table_scan_rows_total", **scanned) or 0) >= 60)
    guard.resets = ("innodb_table_scan_rows_total", "innodb_data_file_read", "innodb_table_file_read")
    for table in ("table_io_waits_summary_by_table", "file_summary_by_event_name", "file_summary_by_instance"):
        ask(server, f"TRUNCATE performance_schema.{table}")
    ask(server, "SELECT SUM(n) FROM counted.t")
    guard.until(lambda scrape: scrape.get("innodb_table_scan_rows_total", **scanned) == 3)
    assert guard.collected().up
    now = time.time()
    advice = wait_for(lambda: advice if (advice := guard.sidecar.get("/advise").json())["computed_at"] > now else None)
    assert not advice["failed"]
    values = [item["value"] for recommendation in advice["recommendations"] for item in recommendation["evidence"]]
    assert all(value >= 0 for value in values if isinstance(value, int | float))
    guard.agrees()
    ask(server, "DROP DATABASE counted")
