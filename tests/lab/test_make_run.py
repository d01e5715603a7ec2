"""`make run` from start to end: the README's promise, on a real server."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from typing import Any

import pymysql
import pytest

from lab.demo import SCAN_PAUSE, SCANNED, SCANNED_PAGES
from lab.servers import Server
from lab.workloads import SCHEMA
from tests.lab.demo import Demo
from tests.waiting import wait_for

LONG = 120.0  # seconds; three tables are made first, and then passes are watched

SCANNED_ROWS = 8 * SCANNED_PAGES  # eight rows fill a page (lab.workloads)


def scan_findings(demo: Demo) -> list[dict[str, Any]]:
    """The findings of /advise on scanned tables."""
    return [found for found in demo.advice()["recommendations"] if found["rule"] == "scan-exceeds-old-sublist"]


def values(found: Any) -> dict[str, Any]:
    """A finding's evidence, by name."""
    return {item["name"]: item["value"] for item in found["evidence"]}


def watched_long(demo: Demo) -> list[dict[str, Any]]:
    """Findings over enough passes that the cut of the first one hardly matters."""
    return [found for found in scan_findings(demo) if values(found)["passes"] >= 8]


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
            """Wait for the pause between two passes; the rows read so far."""
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


def test_advice_names_the_scanned_table_and_ends_when_it_is_followed(
    demo: Callable[..., Demo], start_server: Callable[..., Server]
) -> None:
    start_server("mysql-9.7").stop()  # else the demo would replay a recording
    started = demo()
    up = wait_for(lambda: re.search(r"is up: mysql://root@(\S+) ", started.said()))
    server = up[1]
    wait_for(lambda: "sidecar: open " in started.said())
    [found] = wait_for(lambda: scan_findings(started))
    assert found["subject"] == {"schema": SCHEMA, "table": SCANNED}
    pages = pages_read_per_pass(server, 3)
    [found] = wait_for(lambda: watched_long(started))
    evidence = values(found)
    # The server counts a pass at its end, but its reads at once: the start of the window cuts a pass.
    assert evidence["pages_read_per_pass"] == pytest.approx(pages, rel=1 / evidence["passes"] + 0.02)
    assert evidence["table_pages"] > evidence["old_pages"]

    host, port = server.split(":")
    with pymysql.connect(host=host, port=int(port), user="root", autocommit=True) as connection:
        for statement in found["changes"][0]["apply"]:
            connection.cursor().execute(statement)
    wait_for(lambda: not scan_findings(started))
    pages_read_per_pass(server, 1)  # the first pass after the change still reads missing pages
    assert pages_read_per_pass(server, 2) < 0.01 * evidence["table_pages"]
    assert scan_findings(started) == []

    assert started.end(signal.SIGINT) == 0
    assert "Traceback" not in started.said()
    assert started.said().endswith("stopped; nothing is left behind\n")
    with pytest.raises(pymysql.MySQLError):
        pymysql.connect(host=host, port=int(port), user="root")
