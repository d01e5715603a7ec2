"""`make run`: a private server under a load that needs advice, watched by the sidecar.

The server is the first of `SERVERS` that this machine has or Debian's mirror offers. Without any, a bundled recording
is replayed. DSN=… or DEFAULTS_FILE=… watches your own server instead; LISTEN=… sets the sidecar's address.
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
SERVERS = {
    "mysql-9.7": ("MySQL 9.7", {}),
    servers.ANY_MYSQL: ("MySQL", {}),
    "mariadb-11.8": ("MariaDB 11.8", {"performance-schema": "ON", "innodb-lru-scan-depth": "100"}),
}
"""In the order in which they are tried: what each is called, and its options. MariaDB's page cleaner keeps
innodb_lru_scan_depth pages free, by default 1,536 of 16,224 here: 11.8.9 then has the scanned table in the pool after
some 15 s. With 100 each pass reads it."""
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
        server = _server()
        if server is None:
            return _replay()
        with server, load(server):
            return _watch(server)
    except KeyboardInterrupt:
        say("\nstopped; nothing is left behind")
        return 0


def _server() -> servers.PrivateServer | None:
    """The first of `SERVERS` that starts; None if none does. Says which, and why not those before it."""
    say("starting a private server (the first time it is downloaded: about 60 MB) …")
    reasons: dict[str, str] = {}
    for name, (title, options) in SERVERS.items():
        try:
            server = servers.start(name, {"innodb-buffer-pool-size": POOL, **options})
        except (servers.UnavailableHere, servers.StartError) as error:
            reasons.setdefault(str(error), title)  # without apt it is the same for all
            continue
        for reason, other in reasons.items():
            say(f"{other} is unavailable here: {reason}")
        say(f"{title.split()[0]} {server.version} is up: {server.dsn} (root, no password), buffer pool {POOL}")
        return server
    say(
        f"No server can be had here ({'; '.join(reasons)}): install MySQL or MariaDB, so that mysqld or mariadbd is on"
        " PATH, or run `docker compose up` in place of `make run`."
    )
    return None


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
    say(f"Replaying a recording of a MySQL 9.7 instead, made by lab.captures: {RECORDING.parent.name}")
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
