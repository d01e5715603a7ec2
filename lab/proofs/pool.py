"""Proofs of the rules of the pool's size: tables and hot sets larger than the pool."""

from __future__ import annotations

import math
import random
from functools import partial

from lab.harness.measure import pool_statistic
from lab.harness.records import Data
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA, emptied, look_up, look_up_pages, scan
from lab.proofs.base import CounterProof, Proof
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.scans import HOT, LARGER_PAGES, OTHER, SCANNED, SMALLER, WATCHED, with_connection
from lab.proofs.trial import Trial
from lab.proofs.work_cost import A_ROUND, PAUSE, comparisons, followed, measure, measure_observed, repeat, rested
from lab.servers.sql import execute, global_status, query_number

OTHER_PAGES, HOT_PAGES = 4_000, 5_000
LOOKUPS, ROUNDS = 1_500, 6
LOOKED_UP_EVERY = 0.5
"""Seconds of rest, so that rounds on a fast machine are long enough compared with innodb_old_blocks_time."""
CHUNK = 8 * 2**20
DATA_BYTES = f"SELECT SUM(DATA_LENGTH) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{SCHEMA}'"
READS, REQUESTS = "Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_requests"
POOL_BYTES = "SELECT @@innodb_buffer_pool_size"
# A pool of 3,584 pages that can grow in small steps.
GROWING = {
    "mysql-9.7": SMALLER | {"innodb-buffer-pool-chunk-size": "8M"},
    "mariadb-10.11": SMALLER | {"innodb-buffer-pool-size-max": "256M"},
    "mysql-5.6": SMALLER,
}


def table_exceeds_pool(trial: Trial) -> Data:
    """A table larger than the pool is read from disk at each pass."""
    server = trial.server
    fill = with_connection(server, partial(scan, table=OTHER))
    one_pass = with_connection(server, partial(scan, table=SCANNED))
    with emptied(server, {SCANNED: LARGER_PAGES, OTHER: OTHER_PAGES}):
        fill()
        first = measure(server, one_pass, times=1)
        pages = pool_statistic(server, "POOL_SIZE")
        window, before = measure_observed(server, one_pass, WATCHED)
        trial.fires(window, schema=SCHEMA, table=SCANNED)
        after = followed(trial, one_pass, partial(repeat, one_pass, 2), WATCHED)
    return trial.proved(
        condition=(
            f"A table of {LARGER_PAGES:,} leaf pages is scanned every {PAUSE:g} seconds in a pool of"
            f" {pages:,.0f} pages that another table had filled."
        ),
        facts=(
            EvidenceCheck(name="pages of the table", said=trial.evidence("table_pages"), known=first.pages),
            EvidenceCheck(name="pages of the pool", said=trial.evidence("pool_pages"), known=pages),
            EvidenceCheck(name="passes", said=trial.evidence("passes"), known=WATCHED),
            EvidenceCheck(name="pages read per pass", said=trial.evidence("pages_read_per_pass"), known=before.pages),
        ),
        effects=[trial.effect(before.pages, after.pages)],
        measures=comparisons("a pass", before, after),
    )


def hot_set(trial: Trial) -> Data:
    """Lookups over more pages than the pool has."""
    server = trial.server
    lookups = with_connection(server, partial(look_up, table=HOT, pages=HOT_PAGES, times=LOOKUPS))
    touch_all = with_connection(server, partial(look_up_pages, table=HOT, pages=range(HOT_PAGES)))
    with emptied(server, {HOT: HOT_PAGES}):
        touch_all()
        repeat(lookups, 2 * ROUNDS, LOOKED_UP_EVERY)  # brings the list to the lookups' steady state
        pages, read = pool_statistic(server, "POOL_SIZE"), pool_statistic(server, "NUMBER_PAGES_READ")
        window, before = measure_observed(server, lookups, ROUNDS, LOOKED_UP_EVERY)
        trial.fires(window)
        # As later lookups would, one by one. Twice, because the pool may still grow at first (MariaDB 10.11).
        after = followed(trial, lookups, partial(repeat, touch_all, 2, pause=0.0), ROUNDS, LOOKED_UP_EVERY)
    round_seconds = window.seconds / ROUNDS
    return trial.proved(
        condition=f"Rows on {HOT_PAGES:,} pages are looked up, all alike, in a pool of {pages:,.0f} pages.",
        facts=(
            EvidenceCheck(name="pages of the pool", said=trial.evidence("pool_pages"), known=pages),
            EvidenceCheck(
                name="pages read since the start",
                said=trial.evidence("pages_read_since_start"),
                known=read + before.pages * ROUNDS,
            ),
            EvidenceCheck(
                name=f"pages read by {LOOKUPS:,} lookups",
                said=trial.evidence("pages_read_per_second") * round_seconds,
                known=before.pages,
            ),
        ),
        effects=[trial.effect(before.pages, after.pages, quantity=A_ROUND, unit="pages", rate=1.0 / round_seconds)],
        measures=comparisons(f"{LOOKUPS:,} lookups", before, after),
    )


def data_exceed_the_pool(trial: Trial) -> CounterProofRecord:
    """A table that is dumped rarely exceeds the pool; the tables in constant use fit."""
    server, hot = trial.server, 400
    dump = with_connection(server, partial(scan, table=OTHER))

    def one_round() -> None:
        with server.connect() as connection:
            look_up_pages(connection, HOT, range(hot))
            scan(connection, SCANNED)

    with emptied(server, {SCANNED: hot, HOT: hot, OTHER: 2 * OTHER_PAGES}):
        dump()
        repeat(one_round, WATCHED)
        trial.silent(snapshots(server, rested(one_round), WATCHED))
        before = measure(server, one_round)  # without the sidecar's own reads
        pages, data = pool_statistic(server, "POOL_SIZE"), query_number(server, DATA_BYTES)
        statement = f"SET GLOBAL innodb_buffer_pool_size = {math.ceil(data / CHUNK) * CHUNK}"
        execute(server, statement)
        repeat(one_round, WATCHED)
        after = measure(server, one_round)
    return CounterProofRecord(
        folklore="the buffer pool must be as large as the data",
        source='MySQLTuner, "InnoDB buffer pool / data size"',
        condition=(
            f"There are {data / 2**20:,.0f} MiB of data, a table of {2 * OTHER_PAGES:,} pages among them that was read"
            f" once, and a pool of {pages:,.0f} pages. Every {PAUSE:g} seconds one of {hot} pages is scanned and rows"
            f" on {hot} pages of another are looked up."
        ),
        followed=(statement,),
        measures=(Comparison(what="pages read by a round", unit="pages", before=before.pages, after=after.pages),),
        notes="A pool must hold what is asked for again, and no more.",
    )


def hit_ratio(trial: Trial) -> CounterProofRecord:
    """A low hit ratio, because each page is needed only once."""
    server, each, rounds = trial.server, 1_500, 2 * WATCHED
    pages = list(range(each * rounds))
    random.Random(1).shuffle(pages)  # in no order of the pages: none is read ahead
    places = iter(range(0, len(pages), each))

    def go_on() -> None:
        first = next(places)
        with server.connect() as connection:
            look_up_pages(connection, OTHER, pages[first : first + each])

    with emptied(server, {OTHER: len(pages)}):
        reads, requests = global_status(server, READS), global_status(server, REQUESTS)
        window, before = measure_observed(server, go_on, WATCHED)
        hits = 1 - (global_status(server, READS) - reads) / (global_status(server, REQUESTS) - requests)
        trial.silent(window)
        pool_pages = pool_statistic(server, "POOL_SIZE")
        statement = f"SET GLOBAL innodb_buffer_pool_size = {2 * query_number(server, POOL_BYTES):.0f}"
        execute(server, statement)
        after = measure(server, go_on, WATCHED)
    return CounterProofRecord(
        folklore="a hit ratio under 99 % wants a larger buffer pool",
        source='MySQL Enterprise Monitor, "InnoDB Buffer Cache Has Sub-Optimal Hit Rate", and many others',
        condition=(
            f"A server that has just started has a pool of {pool_pages:,.0f} pages. A job goes through a table of"
            f" {len(pages):,} pages by its key, {each:,} at a time and each of them once: the hit ratio is {hits:.0%}."
        ),
        followed=(statement,),
        measures=(Comparison(what=f"pages read for {each:,}", unit="pages", before=before.pages, after=after.pages),),
        notes="What was never read before is in no pool, however large.",
    )


PROOFS: tuple[Proof, ...] = (
    Proof("scan-exceeds-buffer-pool", GROWING, table_exceeds_pool, takes=25),
    Proof("buffer-pool-too-small", GROWING, hot_set, takes=35),
)
COUNTER_PROOFS: tuple[CounterProof, ...] = (
    CounterProof("scan-exceeds-buffer-pool", "mysql-9.7", GROWING["mysql-9.7"], data_exceed_the_pool, takes=30),
    CounterProof("buffer-pool-too-small", "mysql-9.7", GROWING["mysql-9.7"], hit_ratio, takes=30),
)
