"""The rules of reads, writes and warm-up on real servers: each fires, its changes help as predicted, then silence."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

import pymysql
import pytest

from advisor import engine
from advisor.altered import Altered
from advisor.recommendation import Advice, Change, Recommendation
from advisor.window import Window
from exporter.snapshot import ConfiguredMachine, Snapshot
from lab.captures.scenarios import io
from lab.servers import Server
from lab.watching import by_rule, execute, rules
from lab.watching import snapshots as snapshots_of
from lab.workloads import SCHEMA, Load, look_up, look_up_pages, make_table, scan

pytestmark = pytest.mark.server
LONG_UP = Altered.model_validate({"status": {"uptime": 86_400}})
Start = Callable[..., Server]


def watched(server: Server, work: Callable[[], None], times: int = 3) -> tuple[Snapshot, ...]:
    """Snapshots before and after each piece of work; the disk is called an SSD where its latency does not tell."""
    return snapshots_of(server, work, times, machine=ConfiguredMachine(storage="ssd"))


def said(snapshots: Sequence[Snapshot], rule_id: str) -> list[Recommendation]:
    advice: Advice = engine.advise(rules(), Window.of(snapshots, longest=3600))
    assert not [blind for blind in advice.blind if blind.rule == rule_id]
    return by_rule(advice, rule_id)


def effect(found: Recommendation) -> tuple[float, float]:
    """What is now, and what is predicted."""
    assert found.effect is not None
    assert found.effect.now is not None
    return found.effect.now, found.effect.predicted


def apply(server: Server, changes: Sequence[Change]) -> None:
    execute(server, *(statement for change in changes for statement in change.apply))


def roll_back(server: Server, changes: Sequence[Change]) -> None:
    execute(server, *(statement for change in reversed(changes) for statement in change.rollback))


def as_options(changes: Sequence[Change]) -> dict[str, str]:
    """What the changes' option-file lines say."""
    return dict(line.split(" = ") for change in changes for line in [change.config or ""])


def pages_read(connection: pymysql.Connection[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT SUM(NUMBER_PAGES_READ) FROM information_schema.INNODB_BUFFER_POOL_STATS")
        return int(cursor.fetchall()[0][0])


@pytest.mark.parametrize("name", ["mysql-9.7", "mariadb-10.11"])
def test_a_dump_of_the_young_pages_saves_their_reads_after_a_restart(start_server: Start, name: str) -> None:
    off = {"innodb-buffer-pool-dump-at-shutdown": "OFF", "innodb-buffer-pool-load-at-startup": "OFF"}
    server = start_server(name, **(io.WARM_POOL | off))
    with server.connect() as connection:
        io.fill(connection)

    def lookups() -> None:
        with server.connect() as connection:
            look_up(connection, io.ORDERS, io.HOT_PAGES, 1_000)

    def read_again() -> int:
        """Pages of the hot set that are read after a restart, once the load at the start is done."""
        server.restart()
        with server.connect() as connection:
            loaded = "Buffer pool(s) load completed"
            deadline = time.monotonic() + 10
            while server.options["innodb-buffer-pool-load-at-startup"] == "ON" and time.monotonic() < deadline:
                with connection.cursor() as cursor:
                    cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_load_status'")
                    if loaded in cursor.fetchall()[0][1]:
                        break
                time.sleep(0.05)
            before = pages_read(connection)
            look_up_pages(connection, io.ORDERS, range(1, io.HOT_PAGES + 1))
            return pages_read(connection) - before

    snapshots = watched(server, lookups)
    assert said(snapshots, "warmup-disabled") == []  # up for seconds
    [found] = said(LONG_UP.apply(snapshots), "warmup-disabled")
    apply(server, found.changes)
    server.options |= {key.replace("_", "-"): value for key, value in as_options(found.changes).items()}
    assert read_again() < 0.1 * io.HOT_PAGES
    assert said(LONG_UP.apply(watched(server, lookups)), "warmup-disabled") == []

    roll_back(server, found.changes)
    server.options |= off
    assert 0.9 * io.HOT_PAGES < read_again() <= effect(found)[0] + 100  # nothing is kept: the counter-proof


@pytest.mark.parametrize("name", ["mysql-9.7"])
def test_read_ahead_in_vain_ends_and_that_of_scans_is_left_alone(start_server: Start, name: str) -> None:
    # Evictions by the page cleaner are not counted; a shorter free list leaves it fewer of them.
    options = {"innodb-read-ahead-threshold": "32", "innodb-lru-scan-depth": "100", "innodb-doublewrite": "0"}
    server = start_server(name, **options, **{"innodb-buffer-pool-size": "24M"})
    with server.connect() as connection:
        make_table(connection, io.ORDERS, 5_000)

    def watched_ranges() -> tuple[Snapshot, ...]:
        """Always the same ones."""
        ranges = io.Ranges(5_000)

        def some() -> None:
            with server.connect() as connection:
                ranges(connection)

        return watched(server, some, 2)

    def one_scan() -> None:
        with server.connect() as connection:
            scan(connection, io.ORDERS)

    watched_ranges()
    [found] = said(watched_ranges(), "read-ahead-wasted")
    now, predicted = effect(found)
    apply(server, found.changes)
    with server.connect() as connection:
        before = pages_read(connection)
    snapshots = watched_ranges()
    with server.connect() as connection:
        assert pages_read(connection) - before == pytest.approx(predicted, rel=0.15)
    assert predicted < 0.9 * now
    for again in said(snapshots, "read-ahead-wasted"):  # the default of 56 may waste some, still: then 0 ends it
        apply(server, again.changes)
        assert said(watched_ranges(), "read-ahead-wasted") == []
        roll_back(server, again.changes)

    roll_back(server, found.changes)
    assert said(watched(server, one_scan, 2), "read-ahead-wasted") == []  # thousands of pages are read ahead, to use


@pytest.mark.parametrize(
    ("name", "options"),
    [("mysql-5.6", {"innodb-flush-method": "fsync"}), ("mariadb-11.8", {"innodb-data-file-buffering": "ON"})],
)
def test_without_the_page_cache_data_pages_are_in_memory_once(
    start_server: Start, name: str, options: dict[str, str]
) -> None:
    server = start_server(name, **{"innodb-buffer-pool-size": "64M", **options})
    with server.connect() as connection:
        make_table(connection, io.ORDERS, 2_500)
    server.restart()
    file = server.datadir / SCHEMA / f"{io.ORDERS}.ibd"

    def one_scan() -> None:
        with server.connect() as connection:
            scan(connection, io.ORDERS)

    def cached() -> float:
        """The part of the table's file that is in the page cache."""
        shown = subprocess.run(  # noqa: S603 - the argument is ours
            ["fincore", "-nb", "-o", "RES,SIZE", str(file)],  # noqa: S607 - wherever util-linux has it
            capture_output=True,
            text=True,
            check=True,
        )
        resident, size = map(int, shown.stdout.split())
        return resident / size

    def drop() -> None:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    if shutil.which("fincore") is None:
        pytest.skip("there is no fincore here")
    if "ext" not in (filesystem := filesystem_of(watched(server, one_scan, 1))) and filesystem != "xfs":
        pytest.skip(f"the data folder is on {filesystem}")
    time.sleep(0.5)
    assert cached() > 0.7  # a part of the file is not in use
    [found] = said(watched(server, one_scan), "double-buffering")
    [change] = found.changes
    assert found.actions == ()
    server.restart({change.setting: str(change.to)})
    drop()
    advice = said(watched(server, one_scan), "double-buffering")
    assert advice == []
    assert cached() < 0.01

    # Beside a pool that misses many pages the page cache may be what serves them: no change, but a larger pool.
    server.restart(options | {"innodb-buffer-pool-size": "24M", "innodb-lru-scan-depth": "100"})
    [found] = said(watched(server, one_scan), "double-buffering")
    assert found.changes == ()
    assert "innodb_buffer_pool_size" in found.actions[0].do


def filesystem_of(snapshots: Sequence[Snapshot]) -> str:
    machine = snapshots[-1].machine
    return (machine.filesystem if machine is not None else None) or "a file system that cannot be seen"


def test_on_mariadb_a_higher_capacity_and_a_low_water_mark_together_keep_the_redo_log_free(start_server: Start) -> None:
    options = io.WRITTEN_POOL | io.HARD_DISK | io.LOGS["mariadb-10.11"]
    server = start_server("mariadb-10.11", **options)
    with server.connect() as connection:
        io.make_written(connection)

    def lookups() -> None:
        with server.connect() as connection:
            look_up(connection, io.ARCHIVE, 3_500, 100)
        time.sleep(0.8)

    def under_load() -> tuple[Snapshot, ...]:
        """The snapshots after a rest and some load."""
        time.sleep(io.REST)
        with Load(server.connect) as load:
            load.repeat(io.Paced(1_000), pause=0)
            time.sleep(2.0)
            return watched(server, lookups, 3)

    with Load(server.connect) as load:
        load.repeat(io.update, pause=0)
        time.sleep(2.0)
    [found] = said(under_load(), "io-capacity-not-for-ssd")
    assert {change.setting for change in found.changes} >= {"innodb_io_capacity", "innodb_max_dirty_pages_pct_lwm"}
    now, predicted = effect(found)
    apply(server, found.changes)
    snapshots = under_load()
    assert said(snapshots, "io-capacity-not-for-ssd") == []
    assert dirty(snapshots) < min(2 * predicted, now)
    roll_back(server, found.changes)


def dirty(snapshots: Sequence[Snapshot]) -> float:
    return sum(pool.modified_pages for each in snapshots for pool in each.pools or ()) / len(snapshots)
