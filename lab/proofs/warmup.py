"""Proofs of the rule of the buffer pool's dump and load: what a restart reads again."""

from __future__ import annotations

import random
import time
from functools import partial

from advisor.casetest.alterations import Alteration
from exporter.snapshot import Snapshot
from lab.captures.scenarios import io
from lab.harness.measure import pages_read, pool_statistic, seconds
from lab.harness.records import Data, NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, look_up, make_table
from lab.proofs.base import CounterProof, Proof
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.trial import Trial
from lab.servers import Server
from lab.servers.sql import execute, query_number

HOT_PAGES = 2450
"""Nearly as many as the young sublist of that pool holds: the rule's effect is the most that it can be."""
ASKED = "asked"
"""A table with an id on each of the hot pages, in random order."""
UP_SECONDS = 86_400.0
LONG_UP = Alteration.model_validate({"status": {"uptime": UP_SECONDS}})
LONG_UP_SAID = (
    f"uptime, to {UP_SECONDS / 3600:.0f} hours in each snapshot: the rule leaves servers alone that are short-lived"
)
LOAD_SECONDS = 30.0

_SWITCHES = ("innodb-buffer-pool-dump-at-shutdown", "innodb-buffer-pool-load-at-startup")
_OFF = io.WARM_POOL | dict.fromkeys(_SWITCHES, "OFF")
_ON = io.WARM_POOL | dict.fromkeys(_SWITCHES, "ON")


def dump_and_load(trial: Trial) -> Data:
    """After a restart without a dump the hot pages are read again; with the rule's dump none is."""
    server = trial.server
    trial.say("a hot set is made")
    _make(server)
    found = trial.fires(_watched(server))
    if found.cost is None:
        raise NotShown("the rule says nothing of what the load costs")

    trial.say("a restart without a dump")
    server.restart()
    read, took = _asked_again(server)
    _warm(server)
    trial.follow()
    loaded = _loaded(server)
    read_after, took_after = _asked_again(server)
    _warm(server)
    trial.silent(_watched(server))
    trial.take_back()
    return trial.proved(
        condition=(
            f"a pool of {pool_statistic(server, 'POOL_SIZE'):.0f} pages, full, with a hot set of {HOT_PAGES} pages in"
            " the young sublist; no dump at shutdown and no load at the start"
        ),
        altered=LONG_UP_SAID,
        facts=[EvidenceCheck(name="young pages", said=trial.evidence("young_pages"), known=HOT_PAGES)],
        effects=[trial.effect(read, read_after)],
        measures=[
            Comparison(
                what="read by lookups of all hot pages after a restart", unit="pages", before=read, after=read_after
            ),
            Comparison(what="those lookups", unit="s", before=took, after=took_after),
        ],
        notes=(
            f"The load at the start read {loaded} pages in the background ({found.cost.predicted:.0f} predicted), which"
            " is waited for before the lookups."
        ),
    )


def dump_all(trial: Trial) -> CounterProofRecord:
    """A dump of the young sublist is enough: a full dump also loads pages that nobody needs."""
    server = trial.server
    trial.say("a hot set is made")
    _make(server)
    trial.silent(LONG_UP.apply(_watched(server)))
    measured = []
    for pct in (_young_pct(server), 100):
        trial.say(f"a dump of {pct} %")
        _warm(server)
        execute(server, f"SET GLOBAL innodb_buffer_pool_dump_pct = {pct}")
        server.restart()
        loaded = _loaded(server)
        read, _ = _asked_again(server)
        measured.append((loaded, read))
    (loaded, read), (all_loaded, all_read) = measured
    return CounterProofRecord(
        folklore="Dump and load the whole buffer pool, so that a restart does not show.",
        source="widespread advice on innodb_buffer_pool_dump_pct, which MySQL 5.6 followed: it dumps all",
        condition=(
            f"a full pool with a hot set of {HOT_PAGES} pages in the young sublist, and a dump of"
            f" {_young_pct(server)} % of the LRU list at shutdown"
        ),
        followed=("SET GLOBAL innodb_buffer_pool_dump_pct = 100", "a restart"),
        measures=(
            Comparison(
                what="read by the load at the start and by lookups of all hot pages after it",
                unit="pages",
                before=loaded + read,
                after=all_loaded + all_read,
            ),
        ),
        notes=(
            f"Of the hot pages {read} were read again after a dump of the young sublist, and {all_read} after one of"
            " all: the old pages push some of them out while they are loaded."
        ),
    )


def _make(server: Server) -> None:
    ids = [page * ROWS_PER_PAGE for page in range(1, HOT_PAGES + 1)]  # as look_up_pages has them
    random.Random(1).shuffle(ids)
    with server.connect() as connection:
        make_table(connection, io.ORDERS, 5000)
    rows = ", ".join(f"({n}, {id_})" for n, id_ in enumerate(ids))
    execute(
        server,
        f"CREATE TABLE {SCHEMA}.{ASKED} (n INT NOT NULL PRIMARY KEY, id INT NOT NULL) ENGINE=InnoDB",
        f"INSERT INTO {SCHEMA}.{ASKED} VALUES {rows}",
    )
    _warm(server)


def _warm(server: Server) -> None:
    with server.connect() as connection:
        io.warm(connection, HOT_PAGES)


def _watched(server: Server) -> tuple[Snapshot, ...]:
    """Snapshots with lookups of the hot pages in between."""
    with server.connect() as connection:
        return snapshots(server, partial(look_up, connection, io.ORDERS, HOT_PAGES, 1000), 3)


def _asked_again(server: Server) -> tuple[int, float]:
    """Pages read and seconds of one statement that looks up a row on each hot page."""
    before = pages_read(server)
    took = seconds(
        lambda: execute(
            server,
            f"SELECT STRAIGHT_JOIN SUM(LENGTH(filler)) FROM {SCHEMA}.{ASKED} JOIN {SCHEMA}.{io.ORDERS} USING (id)",
        ),
        times=1,
    )
    return pages_read(server) - before, took


def _loaded(server: Server) -> int:
    """Wait until the load at the start is done; return the pages in its dump.

    Raises:
        NotShown: It takes too long.
    """
    deadline = time.monotonic() + LOAD_SECONDS
    while time.monotonic() < deadline:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_load_status'")
            if "load completed" in str(cursor.fetchall()[0][1]):
                return len((server.datadir / "ib_buffer_pool").read_text().splitlines())
        time.sleep(0.05)
    raise NotShown(f"the load at the start was not done after {LOAD_SECONDS:.0f} s")


def _young_pct(server: Server) -> int:
    return int(query_number(server, "SELECT 100 - @@innodb_old_blocks_pct"))


PROOFS = (
    Proof(
        "warmup-disabled",
        dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-10.11"), _OFF),
        dump_and_load,
        takes=30.0,
        altered=LONG_UP,
    ),
)
COUNTER_PROOFS = (
    CounterProof("warmup-disabled", "mysql-9.7", _ON | {"innodb-buffer-pool-dump-pct": "63"}, dump_all, takes=30.0),
)
