"""Proofs of the rules of the LRU list: repeated scans and counts of tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pymysql

from exporter.snapshot import Snapshot
from lab.captures.scenarios.counts import make_scattered_table
from lab.captures.scenarios.scans import time_zero_keeps, time_zero_pollutes
from lab.harness.measure import PAGES as PAGES_READ
from lab.harness.measure import YOUNG, leaf_pages, measure, pool_statistic, repeat, together
from lab.harness.workloads import SCHEMA, count, emptied, look_up, look_up_pages, scan, with_connection
from lab.proofs.proof import (
    ComparedFigure,
    CounterProof,
    EvidenceFigure,
    Options,
    PredictedFigure,
    Proof,
    pages_and_time,
)
from lab.proofs.trial import RuleTrial

SCANNED, OTHER, HOT = "orders", "archive", "items"
PAGES, OTHER_PAGES = 2_700, 3_000
WATCHED = 3
"""Passes in a window."""
PAUSE = 1.1
"""Seconds; longer than the default innodb_old_blocks_time, so that repeated work can make pages young."""

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
BURST_SECONDS = 4.0
BURST = {"innodb-old-blocks-time": f"{1000 * BURST_SECONDS:.0f}"}
"""More than the default: 3,000 lookups take a second and more on a slow machine."""
THREADS = {"innodb-parallel-read-threads": "4"}
SEED_2 = "seed 002, which measured it on a table that the old sublist then held"


def _read_each_pass(
    rule: str, options: Options, read: Callable[[pymysql.Connection[Any], str], None], *, how: str, passes: str
) -> Proof:
    """A table larger than the old sublist but smaller than the pool is read from disk at each pass.

    Args:
        rule: The rule's id.
        options: By server.
        read: One pass.
        how: It in words.
        passes: The name of their number in the evidence.
    """

    @Proof(
        rule,
        options,
        condition=f"A table of {PAGES:,} leaf pages is {how} every {PAUSE:g} seconds in a pool of"
        " {evidence[pool_pages]:,.0f} pages that another table had filled.",
        facts=(
            EvidenceFigure("pages of the table", "table_pages", "table"),
            EvidenceFigure("passes", passes, "passes"),
            EvidenceFigure("pages read per pass", "pages_read_per_pass", "pages"),
            EvidenceFigure("pages that the old sublist aims at", "old_target_pages", "old"),
        ),
        effect=PredictedFigure("pages"),
        measures=pages_and_time("a pass"),
        notes="innodb_lru_scan_depth is scaled down with the pool, to 100.",
    )
    def proof(trial: RuleTrial) -> None:
        with emptied(trial.server, {SCANNED: PAGES, OTHER: OTHER_PAGES}) as connection:
            one_pass = partial(read, connection, SCANNED)
            scan(connection, OTHER)
            trial.before |= {"table": measure(trial.server, one_pass, pause=PAUSE)["pages"], "passes": WATCHED}
            seen = trial.watch(one_pass, WATCHED, pause=PAUSE)
            trial.before["old"] = pool_statistic(trial.server, "OLD_DATABASE_PAGES")
            trial.fires(seen, schema=SCHEMA, table=SCANNED)
            trial.follow_and_take_back(one_pass, WATCHED, one_pass, pause=PAUSE)

    return proof


_HELD_PAGES, _DUMPED_PAGES, _SPARED_PAGES = 1_800, 6_000, 600
_HOT_PAGES, _HOT_LOOKUPS, _BURST_LOOKUPS = 1_800, 6_000, 3_000
_SCATTERED_ROWS = 42_000
_SPREAD_PAGES, _SPREAD_LOOKUPS = 9_000, 2_500
_LARGER_PCT = "a table that is read from disk at each scan wants a larger innodb_old_blocks_pct"
_PASS_PAGES = ComparedFigure("pages read by a pass", "pages", "pages")
_ROUND_PAGES = ComparedFigure("pages read by scan and lookups", "pages", "pages")


@Proof(
    "old-blocks-time-zero",
    dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-10.11"), POOL | ZERO),
    condition="innodb_old_blocks_time is 0. A round is a scan of {table:,.0f} pages, more than the pool has,"
    " and then lookups in a hot set of {hot:,.0f} pages, which would fit it.",
    facts=(
        EvidenceFigure("pages of the table", "table_pages", "table"),
        EvidenceFigure("passes", "serial_passes", "passes"),
        EvidenceFigure("pages made young", "made_young", "all_young"),
        EvidenceFigure("pages read per pass", "pages_read_per_pass", "table"),
    ),
    effect=PredictedFigure("pages", "pages read a round", "pages", per="per_second"),
    measures=pages_and_time("a round"),
)
def _time_zero(trial: RuleTrial) -> None:
    server = trial.server
    one_pass = with_connection(server, scan, OTHER)
    with time_zero_pollutes(server) as one_round:
        seen = trial.watch(one_round, WATCHED, counters=PAGES_READ | YOUNG)
        trial.fires(seen, schema=SCHEMA, table=OTHER)
        trial.before |= {
            "table": measure(server, one_pass, pause=PAUSE)["pages"],
            "passes": WATCHED,
            "all_young": WATCHED * trial.before["young"],
            "hot": leaf_pages(server, SCHEMA, HOT),
            "per_second": WATCHED / (seen[-1].at - seen[0].at),
        }
        trial.follow_and_take_back(one_round, WATCHED, one_round)


@CounterProof(
    "scan-exceeds-old-sublist",
    {"mysql-9.7": POOL},
    folklore="a table that is scanned again and again wants innodb_old_blocks_pct = 95",
    source=SEED_2,
    condition=f"A table of {_HELD_PAGES:,} pages, more than the old sublist holds, is scanned every {PAUSE:g} seconds,"
    f" and a hot set of {_SPARED_PAGES} pages is asked for, in a pool that still has {{free:,.0f}} pages free."
    f" Another time a table of {_DUMPED_PAGES:,} pages is dumped.",
    measures=(_PASS_PAGES, ComparedFigure("pages of the hot set read anew after a dump", "pages", "spared")),
    notes="A pool with free pages holds a table whatever its old sublist; a young sublist of 5 % holds no hot set.",
)
def _free_pages_hold_it(trial: RuleTrial) -> None:
    server = trial.server
    one_pass, dump = with_connection(server, scan, SCANNED), with_connection(server, scan, OTHER)
    lookups = with_connection(server, look_up_pages, HOT, range(_SPARED_PAGES))

    def after_a_dump() -> None:
        for _ in range(2):
            dump()
            lookups()
            time.sleep(PAUSE)
            lookups()
        dump()
        trial.record({"spared": measure(server, lookups, pause=PAUSE)["pages"]})

    with emptied(server, {SCANNED: _HELD_PAGES, OTHER: _DUMPED_PAGES, HOT: _SPARED_PAGES}):
        lookups()
        one_pass()
        trial.silent(trial.watch(one_pass, WATCHED, pause=PAUSE))
        trial.before["free"] = pool_statistic(server, "FREE_BUFFERS")
        after_a_dump()
    trial.restart_with_folklore({"innodb-old-blocks-pct": "95"})
    lookups()
    one_pass()
    trial.watch(one_pass, WATCHED, pause=PAUSE)
    after_a_dump()


@CounterProof(
    "scan-exceeds-old-sublist",
    {"mysql-9.7": POOL},
    folklore="innodb_old_blocks_time = 0 caches a table that is read at each scan",
    source="this rule until its hot set was bounded by the tables that are asked: it offered it as an alternative",
    condition=f"A table of {PAGES:,} pages is scanned in turn with {_HOT_LOOKUPS:,} lookups spread over {_HOT_PAGES:,}"
    " pages, in a pool of {pool:,.0f}. The lookups read nothing, but both together do not fit.",
    measures=(
        ComparedFigure("pages read by a scan and lookups", "pages", "pages"),
        ComparedFigure("pages read by lookups", "pages", "looked_up"),
    ),
    notes="Hits leave no reads. The model assumes the largest hot set that pool and tables allow.",
)
def _hot_set_has_no_room(trial: RuleTrial) -> None:
    server = trial.server
    one_pass = with_connection(server, scan, SCANNED)
    half = with_connection(server, look_up, HOT, _HOT_PAGES, _HOT_LOOKUPS // 2)
    # Else a fast machine asks for no page again after innodb_old_blocks_time.
    lookups = together(half, partial(time.sleep, PAUSE), half)
    one_round = together(one_pass, lookups)
    with emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES, HOT: _HOT_PAGES}) as connection:
        repeat(lookups, 3, PAUSE)
        scan(connection, OTHER)
        repeat(one_round, 3, PAUSE)
        trial.silent(trial.watch(one_round, WATCHED, pause=PAUSE))
        trial.before["looked_up"] = measure(server, lookups, pause=PAUSE)["pages"]
        trial.follow_folklore("SET GLOBAL innodb_old_blocks_time = 0")
        repeat(one_round, 3, PAUSE)
        trial.measure(one_round, 3, pause=PAUSE)
        one_pass()
        trial.after["looked_up"] = measure(server, lookups, pause=PAUSE)["pages"]


@CounterProof(
    "scan-exceeds-old-sublist",
    {"mysql-9.7": POOL | BURST},
    folklore=_LARGER_PCT,
    source="this rule until its choice had to hold for all accesses that explain the reads: it advised 79",
    condition=f"A table of {PAGES:,} pages is scanned in turn with {_BURST_LOOKUPS:,} lookups spread over"
    f" {_HOT_PAGES:,} pages, in a pool of {{pool:,.0f}}. The lookups take less than innodb_old_blocks_time, and so make"
    " no page young: the young sublist keeps a part of the hot set, the rest is read in each round.",
    measures=(_ROUND_PAGES,),
    notes="A set of half the size, none of it young, would explain the same reads, and have room at 79.",
)
def _hot_set_is_asked_for_in_bursts(trial: RuleTrial) -> None:
    server, rest = trial.server, 1.1 * BURST_SECONDS
    one_pass = with_connection(server, scan, SCANNED)
    lookups = with_connection(server, look_up, HOT, _HOT_PAGES, _BURST_LOOKUPS)
    one_round = together(one_pass, lookups)
    with emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES, HOT: _HOT_PAGES}) as connection:
        repeat(lookups, 4, rest)
        scan(connection, OTHER)
        repeat(one_round, 3, rest)
        trial.silent(trial.watch(one_round, WATCHED, pause=rest))
        trial.follow_folklore("SET GLOBAL innodb_old_blocks_pct = 79")
        repeat(one_round, 3, rest)
        trial.watch(one_round, WATCHED, pause=rest)


@CounterProof(
    "scan-exceeds-old-sublist",
    dict.fromkeys(("mysql-9.7", "mariadb-10.11"), POOL),
    folklore=_LARGER_PCT,
    source=SEED_2,
    condition=f"A table of {PAGES:,} pages is scanned in turn with {_SPREAD_LOOKUPS:,} lookups spread over"
    f" {_SPREAD_PAGES:,} pages, in a pool of {{pool:,.0f}}: more is read between two scans than the pool holds.",
    measures=(ComparedFigure("pages read by a scan", "pages", "scanned"), _ROUND_PAGES),
)
def _no_room(trial: RuleTrial) -> None:
    server = trial.server
    one_pass = with_connection(server, scan, SCANNED)
    lookups = with_connection(server, look_up, HOT, _SPREAD_PAGES, _SPREAD_LOOKUPS)
    one_round = together(one_pass, lookups)

    def rounds() -> tuple[Snapshot, ...]:
        one_round()
        trial.record({"scanned": measure(server, one_pass, pause=PAUSE)["pages"]})
        lookups()
        return trial.watch(one_round, WATCHED, pause=PAUSE)

    with emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES, HOT: _SPREAD_PAGES}) as connection:
        scan(connection, OTHER)
        trial.silent(rounds())
        trial.follow_folklore("SET GLOBAL innodb_old_blocks_pct = 80")
        rounds()


@CounterProof(
    "scan-exceeds-old-sublist",
    {"mysql-5.6": SMALLER},
    folklore="a table that is read from disk at each scan wants innodb_old_blocks_pct = 95",
    source=SEED_2,
    condition=f"A table of {LARGER_PAGES:,} pages is scanned every {PAUSE:g} seconds in a pool of {{pool:,.0f}}.",
    measures=(_PASS_PAGES,),
    notes="A larger pool, or to read less, is what helps: the rule scan-exceeds-buffer-pool says so.",
)
def _larger_than_the_pool(trial: RuleTrial) -> None:
    one_pass = with_connection(trial.server, scan, SCANNED)
    with emptied(trial.server, {SCANNED: LARGER_PAGES}):
        one_pass()
        trial.silent(trial.watch(one_pass, WATCHED, pause=PAUSE))
        trial.follow_folklore("SET GLOBAL innodb_old_blocks_pct = 95")
        one_pass()
        trial.measure(one_pass, 3, pause=PAUSE)


@CounterProof(
    "old-blocks-time-zero",
    {"mysql-9.7": POOL | ZERO},
    folklore="innodb_old_blocks_time = 0 is never right, 1000 is",
    source="the manual, which has scan resistance in mind",
    condition=f"innodb_old_blocks_time is 0. A table of {PAGES:,} pages, more than the old sublist holds, is scanned"
    f" every {PAUSE:g} seconds in a pool of {{pool:,.0f}} that another table had filled.",
    measures=pages_and_time("a pass"),
)
def _zero_keeps_it(trial: RuleTrial) -> None:
    one_pass = with_connection(trial.server, scan, SCANNED)
    with time_zero_keeps(trial.server) as step:
        repeat(step, 3, PAUSE)
        trial.silent(trial.watch(one_pass, WATCHED, pause=PAUSE))
    trial.restart_with_folklore({"innodb-old-blocks-time": "1000"})
    with trial.server.connect() as connection:
        scan(connection, OTHER)
    repeat(one_pass, 3, PAUSE)
    trial.measure(one_pass, 3, pause=PAUSE)


@CounterProof(
    "count-parallel-never-promotes",
    {"mysql-9.7": SMALLER | THREADS},
    folklore="COUNT(*) wants innodb_parallel_read_threads = 1, so that it makes pages young",
    source="seed 001, case 3, and bug 99717",
    condition=f"A table of {_SCATTERED_ROWS:,} rows, larger than the pool of {{pool:,.0f}} pages, whose rows came in no"
    f" order of their keys, is counted every {PAUSE:g} seconds.",
    measures=pages_and_time("a count"),
    notes="One thread waits for each page in turn, four wait for four at a time.",
)
def _one_reader_thread(trial: RuleTrial) -> None:
    with trial.server.connect() as connection:
        make_scattered_table(connection, SCANNED, _SCATTERED_ROWS)
    one_count = with_connection(trial.server, count, SCANNED)
    repeat(one_count, 2)
    trial.silent(trial.watch(one_count, WATCHED, pause=PAUSE))
    trial.follow_folklore("SET GLOBAL innodb_parallel_read_threads = 1")
    one_count()
    trial.measure(one_count, 3, pause=PAUSE)


PROOFS = (
    _read_each_pass(
        "scan-exceeds-old-sublist",
        dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-11.8", "mariadb-10.11", "mariadb-10.5"), POOL),
        scan,
        how="scanned",
        passes="passes",
    ),
    _time_zero,
    _read_each_pass(
        "count-parallel-never-promotes",
        {"mysql-9.7": POOL | THREADS},
        count,
        how="counted by four parallel readers",
        passes="passes_by_parallel_readers",
    ),
)
COUNTER_PROOFS = (
    _free_pages_hold_it,
    _hot_set_has_no_room,
    _hot_set_is_asked_for_in_bursts,
    _no_room,
    _larger_than_the_pool,
    _zero_keeps_it,
    _one_reader_thread,
)
