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

from lab.demo import ADDRESS, SCANNED
from lab.servers import Server
from lab.workloads import SCHEMA

pytestmark = pytest.mark.timeout(240)


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
            process.wait(30)


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


def pages_read(server: str, seconds: float) -> tuple[float, float]:
    """Pages read from the scanned table's file, and passes over it, in a stretch of time."""
    host, port = server.split(":")
    with pymysql.connect(host=host, port=int(port), user="root") as connection, connection.cursor() as cursor:

        def look() -> tuple[float, float]:
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
            return read, float(cursor.fetchall()[0][0]) / 91_200

        before = look()
        time.sleep(seconds)
        after = look()
    return after[0] - before[0], after[1] - before[1]


def test_advice_names_the_scanned_table_and_goes_away_when_it_is_followed(
    demo: tuple[subprocess.Popen[str], Path],
) -> None:
    process, output = demo
    up = wait_for(lambda: re.search(r"is up: mysql://root@(\S+) ", output.read_text()), 120)
    server = up[1]
    [found] = wait_for(scan_findings, 60)
    assert found["subject"] == {"schema": SCHEMA, "table": SCANNED}
    evidence = {item["name"]: item["value"] for item in found["evidence"]}
    read, passes = pages_read(server, 9)
    assert passes >= 2
    assert evidence["pages_read_per_pass"] == pytest.approx(read / passes, rel=0.1)
    assert evidence["table_pages"] > evidence["old_pages"]

    host, port = server.split(":")
    with pymysql.connect(host=host, port=int(port), user="root", autocommit=True) as connection:
        for statement in found["changes"][0]["apply"]:
            connection.cursor().execute(statement)
    wait_for(lambda: not scan_findings(), 30)
    time.sleep(5)  # the first pass after the change still reads what was not there
    read, passes = pages_read(server, 9)
    assert passes >= 2
    assert read / passes < 0.01 * evidence["table_pages"]
    assert scan_findings() == []

    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    text = output.read_text()
    assert "Traceback" not in text
    assert "nothing is left behind" in text
    with pytest.raises(pymysql.MySQLError):
        pymysql.connect(host=host, port=int(port), user="root")
