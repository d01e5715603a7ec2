"""`make run` from start to end: the README's promise, on a real server."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from lab.demo import ADDRESS, SCAN_PAUSE, SCANNED, SCANNED_PAGES
from lab.servers import Server
from lab.workloads import SCHEMA
from tests.advisor.sidecar import PATIENCE

pytestmark = pytest.mark.timeout(400)

SCANNED_ROWS = 8 * SCANNED_PAGES  # eight rows fill a page (lab.workloads)


@pytest.fixture
def demo(tmp_path: Path, start_server: Callable[..., Server]) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    start_server("mysql-9.7").stop()  # the demo would go on without one, replaying a recording
    output = tmp_path / "output"
    environment = {k: v for k, v in os.environ.items() if k not in ("DSN", "DEFAULTS_FILE")}
    with output.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "lab.demo"], stdout=file, stderr=subprocess.STDOUT, text=True, env=environment
        )
    try:
        yield process, output
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


def wait_for(found: Any, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if value := found():
                return value
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"not within {seconds:g} s: {found.__doc__ or found}")


def scan_findings() -> Any:
    """What /advise says of scanned tables."""
    with urllib.request.urlopen(f"http://{ADDRESS}/advise?rule=scan-exceeds-old-sublist", timeout=10) as response:
        return json.load(response)["recommendations"]


def values(found: Any) -> dict[str, Any]:
    """What a finding rests on, by name."""
    return {item["name"]: item["value"] for item in found["evidence"]}


def watched_long() -> Any:
    """Findings of enough passes that it does not matter much where the first one was cut."""
    return [found for found in scan_findings() if values(found)["passes"] >= 8]


def pages_read_per_pass(server: str, passes: int) -> float:
    """Pages read from the scanned table's file in one pass over it: the mean of whole passes, from pause to pause.

    A part of a pass says nothing of the whole, for the pages that are still in the pool come one after the other.
    """
    host, port = server.split(":")
    with pymysql.connect(host=host, port=int(port), user="root") as connection, connection.cursor() as cursor:

        def look() -> tuple[float, float]:
            """Pages read so far, and rows."""
            cursor.execute(
                "SELECT SUM_NUMBER_OF_BYTES_READ FROM performance_schema.file_summary_by_instance"
                " WHERE FILE_NAME LIKE %s",
                (f"%/{SCHEMA}/{SCANNED}.ibd",),
            )
            read = float(cursor.fetchall()[0][0]) / 16384
            cursor.execute(
                "SELECT COUNT_FETCH FROM performance_schema.table_io_waits_summary_by_index_usage"
                " WHERE OBJECT_NAME = %s AND INDEX_NAME IS NULL",
                (SCANNED,),
            )
            return read, float(cursor.fetchall()[0][0])

        def pause(rows: float) -> tuple[float, float]:
            """The scan rests between two passes, with so many rows read."""
            deadline = time.monotonic() + 90
            last = look()
            while time.monotonic() < deadline:
                time.sleep(SCAN_PAUSE / 4)
                now = look()
                if now == last and now[1] >= rows:
                    return now
                last = now
            raise AssertionError("the scan never rests")

        before = pause(0)
        after = pause(before[1] + passes * SCANNED_ROWS)
    return (after[0] - before[0]) / ((after[1] - before[1]) / SCANNED_ROWS)


def test_advice_names_the_scanned_table_and_goes_away_when_it_is_followed(
    demo: tuple[subprocess.Popen[str], Path],
) -> None:
    process, output = demo
    up = wait_for(lambda: re.search(r"is up: mysql://root@(\S+) ", output.read_text()), 120)
    server = up[1]
    [found] = wait_for(scan_findings, 120)
    assert found["subject"] == {"schema": SCHEMA, "table": SCANNED}
    pages = pages_read_per_pass(server, 3)
    [found] = wait_for(watched_long, 120)
    evidence = values(found)
    # The server counts a pass when it is over, and its reads as they come: where the window begins, one is cut.
    assert evidence["pages_read_per_pass"] == pytest.approx(pages, rel=1 / evidence["passes"] + 0.02)
    assert evidence["table_pages"] > evidence["old_pages"]

    host, port = server.split(":")
    with pymysql.connect(host=host, port=int(port), user="root", autocommit=True) as connection:
        for statement in found["changes"][0]["apply"]:
            connection.cursor().execute(statement)
    wait_for(lambda: not scan_findings(), 120)
    pages_read_per_pass(server, 1)  # the first pass after the change still reads what was not there
    assert pages_read_per_pass(server, 2) < 0.01 * evidence["table_pages"]
    assert scan_findings() == []

    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0
    text = output.read_text()
    assert "Traceback" not in text
    assert "nothing is left behind" in text
    with pytest.raises(pymysql.MySQLError):
        pymysql.connect(host=host, port=int(port), user="root")
