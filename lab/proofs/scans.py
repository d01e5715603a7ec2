"""Proofs of the rules of the LRU list: repeated scans and counts of tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pymysql

from advisor.observe.window import Window
from lab.captures.scenarios.base import Step
from lab.captures.scenarios.counts import make_scattered_table
from lab.captures.scenarios.scans import time_zero_keeps, time_zero_pollutes
from lab.harness.measure import leaf_pages, pool_statistic
from lab.harness.records import Data
from lab.harness.workloads import SCHEMA, count, emptied, look_up, look_up_pages, scan
from lab.proofs.base import CounterProof, Proof
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.trial import Trial
from lab.proofs.work_cost import (
    A_ROUND,
    PAUSE,
    WorkCost,
    comparisons,
    followed,
    measure,
    measure_observed,
    option_lines,
    repeat,
)
from lab.servers import Server
from lab.servers.sql import execute

SCANNED, OTHER, HOT = "orders", "archive", "items"
PAGES, OTHER_PAGES = 2_700, 3_000
WATCHED = 3
"""Passes in a window."""

# A pool of 4,096 pages. innodb_lru_scan_depth is scaled down with it: at its default of 1,024, or 1,536, the page
# cleaner would keep a quarter of the pool free.
POOL = {
    "innodb-buffer-pool-size": "64M",
    "innodb-lru-scan-depth": "100",
    "innodb-flush-method": "O_DIRECT",  # else pages come out of the system's cache, and take no time
    "performance-schema": "ON",
}
SMALLER = POOL | {"innodb-buffer-pool-size": "56M"}
LARGER_PAGES = 4_200
ZERO = {"innodb-old-blocks-time": "0"}
BURST = {"innodb-old-blocks-time": "4000"}
"""More than the default: 3,000 lookups take a second and more on a slow machine."""
THREADS = {"innodb-parallel-read-threads": "4"}
SEED_2 = "seed 002, which measured it on a table that the old sublist then held"

Read = Callable[["pymysql.Connection[Any]", str], None]


def with_connection(server: Server, work: Callable[[pymysql.Connection[Any]], None]) -> Step:
    """The work, with a new connection each time."""

    def step() -> None:
        with server.connect() as connection:
            work(connection)

    return step


def read_each_pass(trial: Trial, *, read: Read, how: str) -> Data:
    """A table larger than the old sublist but smaller than the pool is read from disk at each pass."""
    server = trial.server
    with emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES}) as connection:
        one_pass = partial(read, connection, SCANNED)
        scan(connection, OTHER)
        first = measure(server, one_pass, times=1)
        window, before = measure_observed(server, one_pass, WATCHED)
        old = pool_statistic(server, "OLD_DATABASE_PAGES")
        trial.fires(window, schema=SCHEMA, table=SCANNED)
        after = followed(trial, one_pass, partial(repeat, one_pass, 2), WATCHED)
    passes = "passes_by_parallel_readers" if read is count else "passes"
    return trial.proved(
        condition=(
            f"A table of {PAGES:,} leaf pages is {how} every {PAUSE:g} seconds in a pool of"
            f" {trial.evidence('pool_pages'):,.0f} pages that another table had filled."
        ),
        facts=(
            EvidenceCheck(name="pages of the table", said=trial.evidence("table_pages"), known=first.pages),
            EvidenceCheck(name="passes", said=trial.evidence(passes), known=WATCHED),
            EvidenceCheck(name="pages read per pass", said=trial.evidence("pages_read_per_pass"), known=before.pages),
            EvidenceCheck(
                name="pages that the old sublist aims at", said=trial.evidence("old_target_pages"), known=old
            ),
        ),
        effects=[trial.effect(before.pages, after.pages)],
        measures=comparisons("a pass", before, after),
        notes="innodb_lru_scan_depth is scaled down with the pool, to 100.",
    )


def time_zero(trial: Trial) -> Data:
    """Scans push the hot set out of the pool, because innodb_old_blocks_time is 0."""
    server = trial.server
    with time_zero_pollutes(server) as one_round:
        young = pool_statistic(server, "PAGES_MADE_YOUNG")
        window, before = measure_observed(server, one_round, WATCHED, pause=0.0)
        young = pool_statistic(server, "PAGES_MADE_YOUNG") - young
        trial.fires(window, schema=SCHEMA, table=OTHER)
        one_pass = measure(server, with_connection(server, partial(scan, table=OTHER)), times=1)
        hot = leaf_pages(server, SCHEMA, HOT)
        after = followed(trial, one_round, partial(repeat, one_round, 2, pause=0.0), WATCHED, pause=0.0)
    return trial.proved(
        condition=(
            f"innodb_old_blocks_time is 0. A round is a scan of {one_pass.pages:,.0f} pages, more than the pool has,"
            f" and then lookups in a hot set of {hot:,.0f} pages, which would fit it."
        ),
        facts=(
            EvidenceCheck(name="pages of the table", said=trial.evidence("table_pages"), known=one_pass.pages),
            EvidenceCheck(name="passes", said=trial.evidence("serial_passes"), known=WATCHED),
            EvidenceCheck(name="pages made young", said=trial.evidence("made_young"), known=young),
            EvidenceCheck(name="pages read per pass", said=trial.evidence("pages_read_per_pass"), known=one_pass.pages),
        ),
        effects=[
            trial.effect(before.pages, after.pages, quantity=A_ROUND, unit="pages", rate=WATCHED / window.seconds)
        ],
        measures=comparisons("a round", before, after),
    )


def free_pages_hold_it(trial: Trial) -> CounterProofRecord:
    """Free pages hold a table larger than the old sublist, and scans of another table spare the hot set."""
    server, dumped, hot = trial.server, 6_000, 600
    pages = 1_800
    one_pass = with_connection(server, partial(scan, table=SCANNED))
    dump = with_connection(server, partial(scan, table=OTHER))
    lookups = with_connection(server, partial(look_up_pages, table=HOT, pages=range(hot)))

    def passes() -> tuple[Window, WorkCost]:
        lookups()
        one_pass()
        return measure_observed(server, one_pass, WATCHED)

    def after_a_dump() -> WorkCost:
        for _ in range(2):
            dump()
            lookups()
            time.sleep(PAUSE)
            lookups()
        dump()
        return measure(server, lookups, times=1)

    with emptied(server, {SCANNED: pages, OTHER: dumped, HOT: hot}):
        window, held = passes()
        trial.silent(window)
        free = pool_statistic(server, "FREE_BUFFERS")
        spared = after_a_dump()
    followed = {"innodb-old-blocks-pct": "95"}
    server.restart(followed)
    (_, held_too), lost = passes(), after_a_dump()
    return CounterProofRecord(
        folklore="a table that is scanned again and again wants innodb_old_blocks_pct = 95",
        source=SEED_2,
        condition=(
            f"A table of {pages:,} pages, more than the old sublist holds, is scanned every {PAUSE:g} seconds, and a"
            f" hot set of {hot} pages is asked for, in a pool that still has {free:,.0f} pages free. Another time a"
            f" table of {dumped:,} pages is dumped."
        ),
        followed=option_lines(followed),
        measures=(
            Comparison(what="pages read by a pass", unit="pages", before=held.pages, after=held_too.pages),
            Comparison(
                what="pages of the hot set read anew after a dump", unit="pages", before=spared.pages, after=lost.pages
            ),
        ),
        notes="A pool with free pages holds a table whatever its old sublist; a young sublist of 5 % holds no hot set.",
    )


def hot_set_has_no_room(trial: Trial) -> CounterProofRecord:
    """A hot set that is always in memory fits today, but not beside the table."""
    server, hot, times = trial.server, 1_800, 6_000
    one_pass = with_connection(server, partial(scan, table=SCANNED))
    half = with_connection(server, partial(look_up, table=HOT, pages=hot, times=times // 2))

    def lookups() -> None:
        half()
        time.sleep(PAUSE)  # else a fast machine asks for no page again after innodb_old_blocks_time
        half()

    def one_round() -> None:
        one_pass()
        lookups()

    statement = "SET GLOBAL innodb_old_blocks_time = 0"
    with emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES, HOT: hot}) as connection:
        for _ in range(3):
            lookups()
            time.sleep(PAUSE)
        scan(connection, OTHER)
        repeat(one_round, 3)
        window, before = measure_observed(server, one_round, WATCHED)
        trial.silent(window)
        looked_up = measure(server, lookups, times=1)
        execute(server, statement)
        repeat(one_round, 3)
        after = measure(server, one_round)
        one_pass()
        looked_up_then = measure(server, lookups, times=1)
    return CounterProofRecord(
        folklore="innodb_old_blocks_time = 0 caches a table that is read at each scan",
        source="this rule until its hot set was bounded by the tables that are asked: it offered it as an alternative",
        condition=(
            f"A table of {PAGES:,} pages is scanned in turn with {times:,} lookups spread over {hot:,} pages, in a pool"
            f" of {pool_statistic(server, 'POOL_SIZE'):,.0f}. The lookups read nothing, but both together do not fit."
        ),
        followed=(statement,),
        measures=(
            Comparison(what="pages read by a scan and lookups", unit="pages", before=before.pages, after=after.pages),
            Comparison(what="pages read by lookups", unit="pages", before=looked_up.pages, after=looked_up_then.pages),
        ),
        notes="Hits leave no reads. The model assumes the largest hot set that pool and tables allow.",
    )


def hot_set_is_asked_for_in_bursts(trial: Trial) -> CounterProofRecord:
    """A hot set of which a part is young, and stays so, because all accesses end within innodb_old_blocks_time."""
    server, hot, times = trial.server, 1_800, 3_000
    rest = 1.1 * int(BURST["innodb-old-blocks-time"]) / 1000
    one_pass = with_connection(server, partial(scan, table=SCANNED))
    lookups = with_connection(server, partial(look_up, table=HOT, pages=hot, times=times))

    def one_round() -> None:
        one_pass()
        lookups()

    statement = "SET GLOBAL innodb_old_blocks_pct = 79"
    with emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES, HOT: hot}) as connection:
        repeat(lookups, 4, rest)
        scan(connection, OTHER)
        repeat(one_round, 3, rest)
        window, before = measure_observed(server, one_round, WATCHED, rest)
        trial.silent(window)
        execute(server, statement)
        repeat(one_round, 3, rest)
        _, after = measure_observed(server, one_round, WATCHED, rest)
    return CounterProofRecord(
        folklore="a table that is read from disk at each scan wants a larger innodb_old_blocks_pct",
        source="this rule until its choice had to hold for all accesses that explain the reads: it advised 79",
        condition=(
            f"A table of {PAGES:,} pages is scanned in turn with {times:,} lookups spread over {hot:,} pages, in a pool"
            f" of {pool_statistic(server, 'POOL_SIZE'):,.0f}. The lookups take less than innodb_old_blocks_time, and so"
            " make no page young: the young sublist keeps a part of the hot set, the rest is read in each round."
        ),
        followed=(statement,),
        measures=(
            Comparison(what="pages read by scan and lookups", unit="pages", before=before.pages, after=after.pages),
        ),
        notes="A set of half the size, none of it young, would explain the same reads, and have room at 79.",
    )


def no_room(trial: Trial) -> CounterProofRecord:
    """More pages are read between two scans than the pool holds."""
    server, pages, times = trial.server, 9_000, 2_500
    one_pass = with_connection(server, partial(scan, table=SCANNED))
    lookups = with_connection(server, partial(look_up, table=HOT, pages=pages, times=times))

    def one_round() -> None:
        one_pass()
        lookups()

    def rounds() -> tuple[Window, WorkCost, WorkCost]:
        one_round()
        scanned = measure(server, one_pass, times=1)
        lookups()
        return *measure_observed(server, one_round, WATCHED), scanned

    statement = "SET GLOBAL innodb_old_blocks_pct = 80"
    with emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES, HOT: pages}) as connection:
        scan(connection, OTHER)
        window, before, scanned = rounds()
        trial.silent(window)
        execute(server, statement)
        _, after, scanned_then = rounds()
    return CounterProofRecord(
        folklore="a table that is read from disk at each scan wants a larger innodb_old_blocks_pct",
        source=SEED_2,
        condition=(
            f"A table of {PAGES:,} pages is scanned in turn with {times:,} lookups spread over {pages:,} pages, in a"
            f" pool of {pool_statistic(server, 'POOL_SIZE'):,.0f}: more is read between two scans than the pool holds."
        ),
        followed=(statement,),
        measures=(
            Comparison(what="pages read by a scan", unit="pages", before=scanned.pages, after=scanned_then.pages),
            Comparison(what="pages read by scan and lookups", unit="pages", before=before.pages, after=after.pages),
        ),
    )


def larger_than_the_pool(trial: Trial) -> CounterProofRecord:
    """A table that no old sublist can hold."""
    server = trial.server
    one_pass = with_connection(server, partial(scan, table=SCANNED))
    statement = "SET GLOBAL innodb_old_blocks_pct = 95"
    with emptied(server, {SCANNED: LARGER_PAGES}):
        one_pass()
        window, before = measure_observed(server, one_pass, WATCHED)
        trial.silent(window)
        execute(server, statement)
        one_pass()
        after = measure(server, one_pass)
    return CounterProofRecord(
        folklore="a table that is read from disk at each scan wants innodb_old_blocks_pct = 95",
        source=SEED_2,
        condition=(
            f"A table of {LARGER_PAGES:,} pages is scanned every {PAUSE:g} seconds in a pool of"
            f" {pool_statistic(server, 'POOL_SIZE'):,.0f}."
        ),
        followed=(statement,),
        measures=(Comparison(what="pages read by a pass", unit="pages", before=before.pages, after=after.pages),),
        notes="A larger pool, or to read less, is what helps: the rule scan-exceeds-buffer-pool says so.",
    )


def zero_keeps_it(trial: Trial) -> CounterProofRecord:
    """innodb_old_blocks_time = 0 moves a scanned table into the young sublist, and so keeps it cached."""
    server = trial.server
    one_pass = with_connection(server, partial(scan, table=SCANNED))
    followed = {"innodb-old-blocks-time": "1000"}
    with time_zero_keeps(server) as step:
        repeat(step, 3)
        window, before = measure_observed(server, one_pass, WATCHED)
        trial.silent(window)
    server.restart(followed)
    with server.connect() as connection:
        scan(connection, OTHER)
    repeat(one_pass, 3)
    after = measure(server, one_pass)
    return CounterProofRecord(
        folklore="innodb_old_blocks_time = 0 is never right, 1000 is",
        source="the manual, which has scan resistance in mind",
        condition=(
            f"innodb_old_blocks_time is 0. A table of {PAGES:,} pages, more than the old sublist holds, is scanned"
            f" every {PAUSE:g} seconds in a pool of {pool_statistic(server, 'POOL_SIZE'):,.0f} that another table"
            " had filled."
        ),
        followed=option_lines(followed),
        measures=comparisons("a pass", before, after),
    )


def one_reader_thread(trial: Trial) -> CounterProofRecord:
    """A table larger than the pool is counted: only the number of parallel reads matters."""
    server, rows = trial.server, 42_000
    with server.connect() as connection:
        make_scattered_table(connection, SCANNED, rows)
    one_count = with_connection(server, partial(count, table=SCANNED))
    statement = "SET GLOBAL innodb_parallel_read_threads = 1"
    for _ in range(2):
        one_count()
    window, before = measure_observed(server, one_count, WATCHED)
    trial.silent(window)
    execute(server, statement)
    one_count()
    after = measure(server, one_count)
    return CounterProofRecord(
        folklore="COUNT(*) wants innodb_parallel_read_threads = 1, so that it makes pages young",
        source="seed 001, case 3, and bug 99717",
        condition=(
            f"A table of {rows:,} rows, larger than the pool of {pool_statistic(server, 'POOL_SIZE'):,.0f} pages,"
            f" whose rows came in no order of their keys, is counted every {PAUSE:g} seconds."
        ),
        followed=(statement,),
        measures=comparisons("a count", before, after),
        notes="One thread waits for each page in turn, four wait for four at a time.",
    )


PROOFS: tuple[Proof, ...] = (
    Proof(
        "scan-exceeds-old-sublist",
        dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-11.8", "mariadb-10.11", "mariadb-10.5"), POOL),
        partial(read_each_pass, read=scan, how="scanned"),
        takes=20,
    ),
    Proof(
        "old-blocks-time-zero",
        dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-10.11"), POOL | ZERO),
        time_zero,
        takes=40,
    ),
    Proof(
        "count-parallel-never-promotes",
        {"mysql-9.7": POOL | THREADS},
        partial(read_each_pass, read=count, how="counted by four parallel readers"),
        takes=20,
    ),
)
COUNTER_PROOFS: tuple[CounterProof, ...] = (
    CounterProof("scan-exceeds-old-sublist", "mysql-9.7", POOL, free_pages_hold_it, takes=30),
    CounterProof("scan-exceeds-old-sublist", "mysql-9.7", POOL, hot_set_has_no_room, takes=55),
    CounterProof("scan-exceeds-old-sublist", "mysql-9.7", POOL | BURST, hot_set_is_asked_for_in_bursts, takes=100),
    CounterProof("scan-exceeds-old-sublist", "mysql-9.7", POOL, no_room, takes=35),
    CounterProof("scan-exceeds-old-sublist", "mariadb-10.11", POOL, no_room, takes=40),
    CounterProof("scan-exceeds-old-sublist", "mysql-5.6", SMALLER, larger_than_the_pool, takes=15),
    CounterProof("old-blocks-time-zero", "mysql-9.7", POOL | ZERO, zero_keeps_it, takes=20),
    CounterProof("count-parallel-never-promotes", "mysql-9.7", SMALLER | THREADS, one_reader_thread, takes=20),
)
