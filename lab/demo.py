"""`make run`: a private MySQL under a load that needs advice, watched by the sidecar.

DSN=… or DEFAULTS_FILE=… watches your own server instead; LISTEN=… sets the sidecar's address. Where MySQL is
unavailable, a bundled recording is replayed.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql

from lab import servers
from lab.harness.workloads import SCHEMA, BackgroundLoad, look_up, make_table, scan
from lab.processes.program import spawn

USUAL_ADDRESS = "127.0.0.1:9747"
ADDRESS = os.environ.get("LISTEN") or USUAL_ADDRESS
POOL = "256M"
SCANNED, HOT, OTHER = "orders", "customers", "archive"
SCANNED_PAGES, HOT_PAGES = 11_400, 2_900  # of 16,382: the scanned table fits the pool alone, but not beside the others
SCAN_PAUSE = 2.0  # seconds; longer than innodb_old_blocks_time
ACCOUNT = "innodb_advisor"
GRANTS = ("PROCESS ON *.*", "SELECT ON performance_schema.*", "SELECT ON mysql.innodb_index_stats")
RECORDING = Path(__file__).parent.parent / "tests/captures/mysql-9.7/repeated-scan/recording.jsonl.gz"


def main() -> int:
    """Run until Ctrl-C; the exit code."""
    servers.interrupt_on_signals()
    try:
        if os.environ.get("DSN") or os.environ.get("DEFAULTS_FILE"):
            return _watch_own()
        try:
            server = _server()
        except (servers.UnavailableHere, servers.StartError) as error:
            say(f"MySQL 9.7 is unavailable here: {error}")
            return _replay()
        with server, load(server):
            return _watch(server)
    except KeyboardInterrupt:
        say("\nstopped; nothing is left behind")
        return 0


def _server() -> servers.PrivateServer:
    say("starting a private MySQL 9.7 (the first time it is downloaded: about 63 MB) …")
    server = servers.start("mysql-9.7", {"innodb-buffer-pool-size": POOL})
    say(f"MySQL {server.version} is up: {server.dsn} (root, no password), buffer pool {POOL}")
    return server


def make_tables(server: servers.PrivateServer, scanned: int = SCANNED_PAGES, hot: int = HOT_PAGES) -> None:
    """Make the tables of `load`, with these numbers of leaf pages."""
    with server.connect() as connection:
        for table, pages in ((SCANNED, scanned), (HOT, hot), (OTHER, scanned)):
            make_table(connection, table, pages)


@contextlib.contextmanager
def load(server: servers.PrivateServer, scanned: int = SCANNED_PAGES, hot: int = HOT_PAGES) -> Iterator[None]:
    """Create three tables; then look up one and scan another repeatedly, while the third fills the pool.

    Args:
        server: The server.
        scanned: Leaf pages of the scanned table, and of the one that fills the pool.
        hot: Leaf pages of the looked-up table.
    """
    say("making three tables …")
    make_tables(server, scanned, hot)
    server.restart()  # empties the pool: from now on it holds only the load's pages
    with server.connect() as connection:
        scan(connection, OTHER)
    with BackgroundLoad(server.connect) as work:
        work.repeat(lambda connection: look_up(connection, HOT, hot, 200), pause=0.05)
        work.repeat(lambda connection: scan(connection, SCANNED), pause=SCAN_PAUSE)
        say(f"load: point lookups on {SCHEMA}.{HOT}, and a full scan of {SCHEMA}.{SCANNED} every {SCAN_PAUSE:g} s")
        yield


def _watch(server: servers.PrivateServer) -> int:
    password = secrets.token_urlsafe(16)
    with server.connect() as connection, connection.cursor() as cursor:
        _create_account(cursor, password)
    dsn = f"mysql://{ACCOUNT}@127.0.0.1:{server.port}"
    began = time.monotonic()
    with _sidecar(["--dsn", dsn, "--interval", "2s"], {"INNODB_ADVISOR_PASSWORD": password}) as sidecar:
        advice = _first_advice(sidecar)
        if advice is not None:
            say(f"\nafter {time.monotonic() - began:.0f} s /advise says:\n  {advice['summary']}")
            for statement in advice["changes"][0]["apply"]:
                say(f"  {statement};")
            say(f"Try it: mysql -h127.0.0.1 -P{server.port} -uroot -e {advice['changes'][0]['apply'][0]!r}")
            say("and see the advice go. Ctrl-C stops everything.")
        return sidecar.wait()


def _create_account(cursor: pymysql.cursors.Cursor, password: str) -> None:
    """Create the account that the README describes."""
    cursor.execute(f"CREATE USER {ACCOUNT}@'127.0.0.1' IDENTIFIED BY %s WITH MAX_USER_CONNECTIONS 4", (password,))
    for grant in GRANTS:
        cursor.execute(f"GRANT {grant} TO {ACCOUNT}@'127.0.0.1'")


def _watch_own() -> int:
    dsn, defaults_file = os.environ.get("DSN"), os.environ.get("DEFAULTS_FILE")
    where = [*(["--dsn", dsn] if dsn else []), *(["--defaults-file", defaults_file] if defaults_file else [])]
    with _sidecar(where, {}) as sidecar:
        return sidecar.wait()


def _replay() -> int:
    say(f"Replaying a recording of one instead, made by lab.captures: {RECORDING.parent.name}")
    with _sidecar(["--recording", str(RECORDING)], {}) as sidecar:
        return sidecar.wait()


@contextlib.contextmanager
def _sidecar(where: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "advisor.cli", "serve", "--listen", ADDRESS, *where]
    process = spawn(command, environment)
    try:
        if _answers(process):
            say(f"sidecar: open http://{ADDRESS}/ , or ask for /advise, /metrics, /snapshot")
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def _answers(sidecar: subprocess.Popen[bytes], patience: float = 120.0) -> bool:
    """Whether the sidecar is up; False if it ended, with its own message, or took too long."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and sidecar.poll() is None:
        with (
            contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError),
            urllib.request.urlopen(f"http://{ADDRESS}/healthz", timeout=5),
        ):
            return True
        time.sleep(0.1)
    return False


def _first_advice(sidecar: subprocess.Popen[bytes], patience: float = 60.0) -> dict[str, Any] | None:
    """The first recommendation; None if the sidecar ends or gives none in time."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and sidecar.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            with urllib.request.urlopen(f"http://{ADDRESS}/advise", timeout=5) as response:
                recommendations = json.load(response)["recommendations"]
            if recommendations:
                return dict(recommendations[0])
        time.sleep(1.0)
    return None


def say(text: str) -> None:
    """Print at once, also through a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
