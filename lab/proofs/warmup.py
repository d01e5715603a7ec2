"""Proofs of the rule of the buffer pool's dump and load: what a restart reads again."""

from __future__ import annotations

import random

from advisor.casetest.alterations import Alteration
from exporter.snapshot import Snapshot
from lab.captures.scenarios import io
from lab.harness.measure import wait_until
from lab.harness.watch import snapshots
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, ask, look_up, make_table, with_connection
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, PredictedFigure, Proof
from lab.proofs.trial import RuleTrial
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number

HOT_PAGES = 2450
"""Nearly as many as the young sublist of that pool holds: the rule's effect is the most that it can be."""
ASKED = "asked"
"""A table with an id on each of the hot pages, in random order."""
LOOK_UP_ALL = f"SELECT STRAIGHT_JOIN SUM(LENGTH(filler)) FROM {SCHEMA}.{ASKED} JOIN {SCHEMA}.{io.ORDERS} USING (id)"
"""One statement that looks up a row on each hot page."""
UP_SECONDS = 86_400.0
LONG_UP = Alteration.model_validate({"status": {"uptime": UP_SECONDS}})
LOAD_SECONDS = 30.0
YOUNG_PCT = "SELECT 100 - @@innodb_old_blocks_pct"

_SWITCHES = ("innodb-buffer-pool-dump-at-shutdown", "innodb-buffer-pool-load-at-startup")
_OFF = io.WARM_POOL | dict.fromkeys(_SWITCHES, "OFF")
_ON = io.WARM_POOL | dict.fromkeys(_SWITCHES, "ON")


@Proof(
    "warmup-disabled",
    dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-10.11"), _OFF),
    condition=f"a pool of {{pool:.0f}} pages, full, with a hot set of {HOT_PAGES} pages in the young sublist; no dump"
    " at shutdown and no load at the start",
    facts=(EvidenceFigure("young pages", "young_pages", "hot"),),
    effect=PredictedFigure("pages"),
    measures=(
        ComparedFigure("read by lookups of all hot pages after a restart", "pages", "pages"),
        ComparedFigure("those lookups", "s", "seconds"),
    ),
    notes="The load at the start read {loaded} pages in the background ({cost:.0f} predicted), which is waited for"
    " before the lookups.",
    altered=LONG_UP,
    why_altered=f"uptime, to {UP_SECONDS / 3600:.0f} hours in each snapshot: the rule leaves servers alone that are"
    " short-lived",
)
def _dump_and_load(trial: RuleTrial) -> None:
    server = trial.server
    _make(server)
    trial.fires(_watched(server))
    trial.before["cost"] = trial.predicted_cost()
    trial.say("a restart without a dump")
    server.restart()
    trial.measure(lambda: execute(server, LOOK_UP_ALL))
    _warm(server)
    trial.follow()
    trial.before["loaded"] = _loaded(server)
    trial.measure(lambda: execute(server, LOOK_UP_ALL))
    _warm(server)
    trial.silent(_watched(server))
    trial.take_back()
    trial.before["hot"] = HOT_PAGES


@CounterProof(
    "warmup-disabled",
    {"mysql-9.7": _ON | {"innodb-buffer-pool-dump-pct": "63"}},
    folklore="Dump and load the whole buffer pool, so that a restart does not show.",
    source="widespread advice on innodb_buffer_pool_dump_pct, which MySQL 5.6 followed: it dumps all",
    condition=f"a full pool with a hot set of {HOT_PAGES} pages in the young sublist, and a dump of {{young}} % of the"
    " LRU list at shutdown",
    measures=(
        ComparedFigure("read by the load at the start and by lookups of all hot pages after it", "pages", "all"),
    ),
    notes="Of the hot pages {read:.0f} were read again after a dump of the young sublist, and {after[read]:.0f} after"
    " one of all: the old pages push some of them out while they are loaded.",
)
def _dump_all(trial: RuleTrial) -> None:
    server = trial.server
    _make(server)
    trial.silent(LONG_UP.apply(_watched(server)))
    young = int(query_number(server, YOUNG_PCT))
    for pct in (young, 100):
        trial.say(f"a dump of {pct} %")
        _warm(server)
        statement = f"SET GLOBAL innodb_buffer_pool_dump_pct = {pct}"
        if pct == young:
            execute(server, statement)
        else:
            trial.follow_folklore(statement)
        server.restart()
        loaded = _loaded(server)
        read = trial.measure(lambda: execute(server, LOOK_UP_ALL))["pages"]
        trial.record({"read": read, "all": loaded + read})
    trial.folklore.append("a restart")
    trial.before["young"] = young


def _make(server: PrivateServer) -> None:
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


def _warm(server: PrivateServer) -> None:
    with server.connect() as connection:
        io.warm(connection, HOT_PAGES)


def _watched(server: PrivateServer) -> tuple[Snapshot, ...]:
    """Snapshots with lookups of the hot pages in between."""
    return snapshots(server, with_connection(server, look_up, io.ORDERS, HOT_PAGES, 1000), 3)


def _loaded(server: PrivateServer) -> int:
    """Wait until the load at the start is done; return the pages in its dump."""

    def completed() -> bool:
        with server.connect() as connection:
            [(_, status)] = ask(connection, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_load_status'")
        return "load completed" in str(status)

    wait_until(completed, LOAD_SECONDS, "the load at the start was not done")
    return len((server.datadir / "ib_buffer_pool").read_text().splitlines())


PROOFS = (_dump_and_load,)
COUNTER_PROOFS = (_dump_all,)
