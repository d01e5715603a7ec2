"""Proofs of double-buffering: pages in both the operating system's page cache and the buffer pool."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from exporter.snapshot import Snapshot
from lab.captures.scenarios import io
from lab.harness.measure import reads, seconds
from lab.harness.records import Data
from lab.harness.watch import snapshots
from lab.harness.workloads import look_up, make_table, scan
from lab.packages.cache import Unavailable
from lab.processes.usage import io_bytes
from lab.proofs.base import CounterProof, Proof
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.trial import Trial
from lab.servers import Server
from lab.servers.sql import query_number

RULE = "double-buffering"
PAGE_BYTES = 16_384
PAGES = 2500
MISSED_PAGES = 8000
"""Several times the small pool."""
LOOKUPS = 1000
SCANS = 15
TIMED = 5
SETTLING_SECONDS = 0.5

_DIRECT = {"innodb-flush-method": "O_DIRECT"}
_LARGE = {"innodb-buffer-pool-size": "96M"}
_SMALL = {"innodb-buffer-pool-size": "24M", "innodb-lru-scan-depth": "100"}
_BUFFERED = {"innodb-flush-method": "fsync"}


def direct(trial: Trial) -> Data:
    """With the page cache, a table that fits the pool is in memory twice; with the rule's setting, once."""
    server = trial.server
    _need_fincore()
    trial.say("a table is made")
    with server.connect() as connection:
        make_table(connection, io.ORDERS, PAGES)
    cold_read, cached = _scanned_cold(server)
    through = ", ".join(f"{name} = {server.options[name]}" for name in _SETTINGS if name in server.options)
    found = trial.fires(_warm_scans(server))
    in_pool = query_number(server, "SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE_LRU")
    warm_read, took = reads(server, partial(_scan, server)), seconds(partial(_scan, server), SCANS)
    trial.follow()
    lines = [change.config for change in found.changes]  # keeps across the restart what SET GLOBAL changed
    cold_read_after, cached_after = _scanned_cold(server, dict(line.split(" = ") for line in lines))
    trial.silent(_warm_scans(server))
    warm_read_after, took_after = reads(server, partial(_scan, server)), seconds(partial(_scan, server), SCANS)
    trial.take_back()
    return trial.proved(
        condition=(
            f"scans of a table of {PAGES} pages that fits the pool, whose pages are read through the page cache"
            f" ({through})"
        ),
        facts=[EvidenceCheck(name="pages in the pool", said=trial.evidence("pages_in_the_pool"), known=in_pool)],
        effects=[trial.effect(cached, cached_after, now=cached)],
        measures=[
            Comparison(
                what="read by the first scan after a start", unit="pages", before=cold_read, after=cold_read_after
            ),
            Comparison(what="read by a later scan", unit="pages", before=warm_read, after=warm_read_after),
        ],
        notes=(
            "The rule does not know how many pages the page cache holds: what is now is what fincore counts. Both"
            " caches are emptied before."
            f" A later scan took {1000 * took:.0f} ms, and then {1000 * took_after:.0f} ms."
        ),
    )


def page_cache_serves(trial: Trial) -> CounterProofRecord:
    """If the pool misses many pages, O_DIRECT removes the cache that serves them."""
    server = trial.server
    _need_fincore()
    with server.connect() as connection:
        make_table(connection, io.ORDERS, MISSED_PAGES)
        scan(connection, io.ORDERS)  # into the page cache
    trial.changes_nothing(snapshots(server, partial(_look_up, server), 3))
    took, disk = _looked_up(server)
    trial.say("folklore is followed")
    server.restart(_DIRECT)
    _look_up(server)
    took_after, disk_after = _looked_up(server)
    read = reads(server, partial(_look_up, server))
    return CounterProofRecord(
        folklore="Always set innodb_flush_method = O_DIRECT: the page cache is a waste of memory.",
        source="widespread advice on innodb_flush_method",
        condition=(
            f"lookups at random places of a table of {MISSED_PAGES} pages, in a pool of"
            f" {_SMALL['innodb-buffer-pool-size']}; the page cache holds all of it"
        ),
        followed=tuple(f"{name.replace('-', '_')} = {value}" for name, value in _DIRECT.items()),
        measures=(
            Comparison(what=f"read from the disk by {LOOKUPS} lookups", unit="pages", before=disk, after=disk_after),
            Comparison(what=f"{LOOKUPS} lookups, as a median", unit="s", before=took, after=took_after),
        ),
        notes=(
            f"{LOOKUPS} lookups miss the pool {read:.0f} times. The rule changes no setting here: it says to enlarge"
            " the pool first."
        ),
    )


_SETTINGS = ("innodb-flush-method", "innodb-data-file-buffering")


def _scan(server: Server) -> None:
    with server.connect() as connection:
        scan(connection, io.ORDERS)


def _look_up(server: Server) -> None:
    with server.connect() as connection:
        look_up(connection, io.ORDERS, MISSED_PAGES, LOOKUPS)


def _warm_scans(server: Server) -> tuple[Snapshot, ...]:
    """Snapshots around scans that read nothing.

    After a start the first observation itself reads some pages of the dictionary and the statistics (seen: 25). In a
    window of 0.2 s they would be a pool that misses 112 pages per second.
    """
    work = partial(_scan, server)
    snapshots(server, work, 1)
    return snapshots(server, work, 3)


def _scanned_cold(server: Server, options: Mapping[str, str] | None = None) -> tuple[float, float]:
    """Pages that a scan reads after a start with empty caches, and pages in the page cache afterwards."""
    server.restart(options or {})
    for file in _data_files(server):
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    read = reads(server, partial(_scan, server))
    time.sleep(SETTLING_SECONDS)
    return read, _cached(server)


def _cached(server: Server) -> float:
    """Pages of all data files in the page cache."""
    shown = subprocess.run(
        ["fincore", "-nb", "-o", "RES", *map(str, _data_files(server))],
        capture_output=True,
        text=True,
        check=True,
    )
    return sum(map(int, shown.stdout.split())) / PAGE_BYTES


def _data_files(server: Server) -> Iterator[Path]:
    yield from sorted(server.datadir.glob("ibdata*"))
    yield from sorted(server.datadir.rglob("*.ibd"))


def _need_fincore() -> None:
    """Check that the machine can count pages in the page cache."""
    if shutil.which("fincore") is None:
        raise Unavailable("fincore (of util-linux), which counts pages in the page cache, is not installed")


def _looked_up(server: Server) -> tuple[float, float]:
    """Seconds of one run of lookups, and the pages that the server's process reads from disk for it."""
    before = io_bytes(server.pid, "read_bytes")
    took = seconds(partial(_look_up, server), TIMED)
    return took, (io_bytes(server.pid, "read_bytes") - before) / PAGE_BYTES / TIMED


PROOFS = (
    Proof(
        RULE,
        {
            "mysql-9.7": _LARGE | _BUFFERED,
            "mysql-5.6": _LARGE | _BUFFERED,
            "mariadb-10.11": _LARGE | _BUFFERED,
            "mariadb-11.8": _LARGE | {"innodb-data-file-buffering": "ON"},
        },
        direct,
        takes=20.0,
    ),
)
COUNTER_PROOFS = (CounterProof(RULE, "mariadb-10.11", _SMALL | _BUFFERED, page_cache_serves, takes=25.0),)
