"""Proofs of the rules of the pool's size: tables and hot sets larger than the pool."""

from __future__ import annotations

import math
import random

from lab.harness.measure import PAGES, counting, measure, pool_statistic, repeat
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA, emptied, look_up, look_up_pages, scan, with_connection
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, PredictedFigure, Proof, pages_and_time
from lab.proofs.scans import HOT, LARGER_PAGES, OTHER, PAUSE, SCANNED, SMALLER, WATCHED
from lab.proofs.trial import RuleTrial
from lab.servers.sql import query_number

OTHER_PAGES, HOT_PAGES, FITTING_PAGES = 4_000, 5_000, 400
LOOKUPS, ROUNDS = 1_500, 6
LOOKED_UP_EVERY = 0.5
"""Seconds of rest, so that rounds on a fast machine are long enough compared with innodb_old_blocks_time."""
ONCE, ONCE_ROUNDS = 1_500, 2 * WATCHED
"""Pages of a round that are needed only once, and rounds."""
CHUNK = 8 * 2**20
DATA_BYTES = f"SELECT SUM(DATA_LENGTH) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{SCHEMA}'"
POOL_BYTES = "SELECT @@innodb_buffer_pool_size"
# A pool of 3,584 pages that can grow in small steps.
GROWING = {
    "mysql-9.7": SMALLER | {"innodb-buffer-pool-chunk-size": "8M"},
    "mariadb-10.11": SMALLER | {"innodb-buffer-pool-size-max": "256M"},
    "mysql-5.6": SMALLER,
}


@Proof(
    "scan-exceeds-buffer-pool",
    GROWING,
    condition=f"A table of {LARGER_PAGES:,} leaf pages is scanned every {PAUSE:g} seconds in a pool of"
    " {pool:,.0f} pages that another table had filled.",
    facts=(
        EvidenceFigure("pages of the table", "table_pages", "table"),
        EvidenceFigure("pages of the pool", "pool_pages", "pool"),
        EvidenceFigure("passes", "passes", "passes"),
        EvidenceFigure("pages read per pass", "pages_read_per_pass", "pages"),
    ),
    effect=PredictedFigure("pages"),
    measures=pages_and_time("a pass"),
)
def _table_exceeds_pool(trial: RuleTrial) -> None:
    server = trial.server
    one_pass = with_connection(server, scan, SCANNED)
    with emptied(server, {SCANNED: LARGER_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        trial.before |= {
            "table": measure(server, one_pass, pause=PAUSE)["pages"],
            "pool": pool_statistic(server, "POOL_SIZE"),
            "passes": WATCHED,
        }
        trial.fires(trial.watch(one_pass, WATCHED, pause=PAUSE), schema=SCHEMA, table=SCANNED)
        trial.follow_and_take_back(one_pass, WATCHED, one_pass, pause=PAUSE)


@Proof(
    "buffer-pool-too-small",
    GROWING,
    condition=f"Rows on {HOT_PAGES:,} pages are looked up, all alike, in a pool of {{pool:,.0f}} pages.",
    facts=(
        EvidenceFigure("pages of the pool", "pool_pages", "pool"),
        EvidenceFigure("pages read since the start", "pages_read_since_start", "read"),
        EvidenceFigure(f"pages read by {LOOKUPS:,} lookups", "pages_read_per_second", "pages", per="per_second"),
    ),
    effect=PredictedFigure("pages", "pages read a round", "pages", per="per_second"),
    measures=pages_and_time(f"{LOOKUPS:,} lookups"),
)
def _hot_set(trial: RuleTrial) -> None:
    server = trial.server
    lookups = with_connection(server, look_up, HOT, HOT_PAGES, LOOKUPS)
    touch_all = with_connection(server, look_up_pages, HOT, range(HOT_PAGES))
    with emptied(server, {HOT: HOT_PAGES}):
        touch_all()
        repeat(lookups, 2 * ROUNDS, LOOKED_UP_EVERY)  # brings the list to the lookups' steady state
        trial.before["pool"] = pool_statistic(server, "POOL_SIZE")
        read = pool_statistic(server, "NUMBER_PAGES_READ")
        seen = trial.watch(lookups, ROUNDS, pause=LOOKED_UP_EVERY)
        trial.before["read"] = read + trial.before["pages"] * ROUNDS
        trial.before["per_second"] = ROUNDS / (seen[-1].at - seen[0].at)
        trial.fires(seen)
        # As later lookups would, one by one. Twice, because the pool may still grow at first (MariaDB 10.11).
        trial.follow_and_take_back(lookups, ROUNDS, touch_all, pause=LOOKED_UP_EVERY)


@CounterProof(
    "scan-exceeds-buffer-pool",
    {"mysql-9.7": GROWING["mysql-9.7"]},
    folklore="the buffer pool must be as large as the data",
    source='MySQLTuner, "InnoDB buffer pool / data size"',
    condition=f"There are {{data:,.0f}} MiB of data, a table of {2 * OTHER_PAGES:,} pages among them that was read"
    f" once, and a pool of {{pool:,.0f}} pages. Every {PAUSE:g} seconds one of {FITTING_PAGES} pages is scanned and"
    f" rows on {FITTING_PAGES} pages of another are looked up.",
    measures=(ComparedFigure("pages read by a round", "pages", "pages"),),
    notes="A pool must hold what is asked for again, and no more.",
)
def _data_exceed_the_pool(trial: RuleTrial) -> None:
    server = trial.server

    def one_round() -> None:
        with server.connect() as connection:
            look_up_pages(connection, HOT, range(FITTING_PAGES))
            scan(connection, SCANNED)

    with emptied(server, {SCANNED: FITTING_PAGES, HOT: FITTING_PAGES, OTHER: 2 * OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        repeat(one_round, WATCHED, PAUSE)
        trial.silent(snapshots(server, lambda: repeat(one_round, 1, PAUSE), WATCHED))
        trial.measure(one_round, 3, pause=PAUSE)  # without the sidecar's own reads
        data = query_number(server, DATA_BYTES)
        trial.before |= {"pool": pool_statistic(server, "POOL_SIZE"), "data": data / 2**20}
        trial.follow_folklore(f"SET GLOBAL innodb_buffer_pool_size = {math.ceil(data / CHUNK) * CHUNK}")
        repeat(one_round, WATCHED, PAUSE)
        trial.measure(one_round, 3, pause=PAUSE)


@CounterProof(
    "buffer-pool-too-small",
    {"mysql-9.7": GROWING["mysql-9.7"]},
    folklore="a hit ratio under 99 % wants a larger buffer pool",
    source='MySQL Enterprise Monitor, "InnoDB Buffer Cache Has Sub-Optimal Hit Rate", and many others',
    condition="A server that has just started has a pool of {pool:,.0f} pages. A job goes through a table of"
    f" {ONCE * ONCE_ROUNDS:,} pages by its key, {ONCE:,} at a time and each of them once: the hit ratio is"
    " {hits:.0%}.",
    measures=(ComparedFigure(f"pages read for {ONCE:,}", "pages", "pages"),),
    notes="What was never read before is in no pool, however large.",
)
def _hit_ratio(trial: RuleTrial) -> None:
    server = trial.server
    pages = list(range(ONCE * ONCE_ROUNDS))
    random.Random(1).shuffle(pages)  # in no order of the pages: none is read ahead
    places = iter(range(0, len(pages), ONCE))

    def go_on() -> None:
        first = next(places)
        with server.connect() as connection:
            look_up_pages(connection, OTHER, pages[first : first + ONCE])

    with emptied(server, {OTHER: len(pages)}):
        requests = counting(reads="Innodb_buffer_pool_reads", requests="Innodb_buffer_pool_read_requests")
        trial.silent(trial.watch(go_on, WATCHED, pause=PAUSE, counters=PAGES | requests))
        trial.before["hits"] = 1 - trial.before["reads"] / trial.before["requests"]
        trial.before["pool"] = pool_statistic(server, "POOL_SIZE")
        trial.follow_folklore(f"SET GLOBAL innodb_buffer_pool_size = {2 * query_number(server, POOL_BYTES):.0f}")
        trial.measure(go_on, WATCHED, pause=PAUSE)


PROOFS = (_table_exceeds_pool, _hot_set)
COUNTER_PROOFS = (_data_exceed_the_pool, _hit_ratio)
