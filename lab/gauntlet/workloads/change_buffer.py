"""Writes to tables whose secondary indexes do not fit the pool, while nothing is buffered; MySQL only.

MariaDB 11 has no change buffer. The pool holds a third of a table with three random indexes, so most new entries read
their page. The server does not count who reads a page: here queries and other indexes read pages too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pymysql

from lab.gauntlet import clients
from lab.gauntlet.workload import ClientWork, GauntletWorkload
from lab.harness.workloads import SCHEMA, ask, make_indexed_table
from lab.servers import PrivateServer
from lab.servers.sql import execute

Statement = Callable[[random.Random], str]

WRITTEN, OTHER = "ledger", "catalogue"
INDEXES = 3
_ROWS, _MOST = 200_000, 2**31 - 1
_TABLE = f"{_ROWS:,} rows with {INDEXES} random indexes, three times the pool"
_RULE = "change-buffering-would-help"
_COMBINED = "The change buffer would combine the reads of new entries"


def _times(number: int, statement: Statement) -> ClientWork:
    """So many statements a round, in one transaction: commits that wait for the disk would slow them down."""

    def work(connection: pymysql.Connection[Any], chooser: random.Random, _: int) -> None:
        ask(connection, "BEGIN")
        for _ in range(number):
            ask(connection, statement(chooser))
        ask(connection, "COMMIT")

    return work


def _key(chooser: random.Random) -> int:
    return chooser.randint(0, _MOST)


def _look_up_key(table: str, chooser: random.Random) -> str:
    """A row and its neighbours in a random secondary index, which covers the query."""
    key, column = _key(chooser), f"k{chooser.randint(1, INDEXES)}"
    return f"SELECT {column} FROM {SCHEMA}.{table} FORCE INDEX ({column}) WHERE {column} >= {key} ORDER BY 1 LIMIT 1"


def _look_up_id(chooser: random.Random) -> str:
    return f"SELECT filler FROM {SCHEMA}.{WRITTEN} WHERE id = {chooser.randint(1, _ROWS)}"


def _look_up_time(chooser: random.Random) -> str:
    return f"SELECT filler FROM {SCHEMA}.{WRITTEN} WHERE at = {chooser.randint(1, _ROWS)}"


def _update(number: int, chooser: random.Random) -> str:
    """Of every third row only: several clients then never wait for each other's rows."""
    row = chooser.randrange(number, _ROWS, INDEXES)
    return f"UPDATE {SCHEMA}.{WRITTEN} SET k1 = {_key(chooser)}, k2 = {_key(chooser)} WHERE id = {row}"


def _delete(chooser: random.Random) -> str:
    return f"DELETE FROM {SCHEMA}.{WRITTEN} WHERE id = {chooser.randint(1, _ROWS)}"


def _insert_named(chooser: random.Random) -> str:
    rows = ", ".join(
        f"(X'{chooser.randbytes(16).hex()}', {_key(chooser)}, {_key(chooser)}, REPEAT('y', 100))" for _ in range(10)
    )
    return f"INSERT INTO {SCHEMA}.{WRITTEN} VALUES {rows}"


def _insert_later(_: random.Random) -> str:
    """Rows whose time is that of the last row and later."""
    return (
        f"INSERT INTO {SCHEMA}.{WRITTEN} (at, filler) SELECT last + n, REPEAT('y', 100)"
        f" FROM (SELECT MAX(at) AS last FROM {SCHEMA}.{WRITTEN}) AS t,"
        " JSON_TABLE('[1,2,3,4,5,6,7,8,9,10]', '$[*]' COLUMNS (n INT PATH '$')) AS numbers"
    )


def _indexed(tables: Sequence[str], server: PrivateServer) -> None:
    with server.connect() as connection:
        for table in tables:
            make_indexed_table(connection, table, _ROWS)


def _filled(server: PrivateServer, *, columns: str, first: str, next_: str, keys: str) -> None:
    """A table of 2^18 rows. Its keys are built at the end, from sorted entries.

    Args:
        server: The server.
        columns: The columns of the table.
        first: The values of the first row.
        next_: The values of a row that is made of another one.
        keys: What to add to the table once it is filled.
    """
    table = f"{SCHEMA}.{WRITTEN}"
    execute(
        server,
        f"CREATE DATABASE IF NOT EXISTS {SCHEMA}",
        f"CREATE TABLE {table} ({columns}, filler VARCHAR(100) CHARACTER SET latin1 NOT NULL)",
        f"INSERT INTO {table} SELECT {first}, REPEAT('x', 100)",
        *(f"INSERT INTO {table} SELECT {next_.format(power=2**n)}, filler FROM {table}" for n in range(18)),
        f"ALTER TABLE {table} {keys}",
        f"ANALYZE TABLE {table}",
    )


def _named(server: PrivateServer) -> None:
    """Random primary keys, and two random indexes."""
    keys = f"RANDOM_BYTES(16), {', '.join(['FLOOR(RAND() * 2147483647)'] * 2)}"
    added = "ADD PRIMARY KEY (id), ADD INDEX (k1), ADD INDEX (k2)"
    columns = "id BINARY(16) NOT NULL, k1 INT NOT NULL, k2 INT NOT NULL"
    _filled(server, columns=columns, first=keys, next_=keys, keys=added)


def _timed(server: PrivateServer) -> None:
    """An index on an ascending column."""
    columns = "id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, at INT NOT NULL"
    _filled(server, columns=columns, first="1, 1", next_="id + {power}, at + {power}", keys="ADD INDEX (at)")


_MYSQL: dict[str, Any] = {
    "options": {
        "": {
            "innodb-buffer-pool-size": "16M",
            "innodb-change-buffering": "none",
            "innodb-io-capacity": "200",  # the default up to 8.0: the master thread merges ten pages a second
            "innodb-fill-factor": "70",  # as after many random inserts: a full index would double during the load
        }
    },
    "servers": ("mysql-9.7",),
    "period": 0.5,
    "warm_up": 4,
    "reported": True,
}
_ONE_TABLE = {"prepare": partial(_indexed, [WRITTEN]), **_MYSQL}
_INSERTS = {"inserts": clients.insert(WRITTEN, 100, keys=INDEXES, size=24)}

WORKLOADS = (
    GauntletWorkload(
        "inserts-by-uuid",
        "150 rows a round with random primary keys into 262,144 rows with two random indexes.",
        f"{_COMBINED} in both indexes, but not the reads of the primary key.",
        {"inserts": _times(15, _insert_named)},
        one_of=(_RULE,),
        prepare=_named,
        **_MYSQL,
    ),
    GauntletWorkload(
        "inserts-beside-scan",
        f"100 rows a round into {_TABLE}, beside a full scan of the table in every fourth round.",
        f"{_COMBINED}; a scan reads each page of the primary key once.",
        {**_INSERTS, "scan": clients.scan(WRITTEN, every=4)},
        one_of=(_RULE,),
        cycle=4,
        watched=8,
        **_ONE_TABLE,
    ),
    GauntletWorkload(
        "updates-of-indexed-columns",
        f"Three clients update two indexed columns of 40 rows a round each, by primary key, in {_TABLE}.",
        f"{_COMBINED}, but not those of the rows.",
        {f"client {n}": _times(40, partial(_update, n)) for n in range(1, INDEXES + 1)},
        one_of=(_RULE,),
        **_ONE_TABLE,
    ),
    GauntletWorkload(
        "inserts-beside-lookups-elsewhere",
        f"100 rows a round into {_TABLE}, beside 100 lookups by the secondary indexes of another such table.",
        f"{_COMBINED}; the lookups read another table's pages.",
        {**_INSERTS, "lookups": _times(100, partial(_look_up_key, OTHER))},
        one_of=(_RULE,),
        prepare=partial(_indexed, [WRITTEN, OTHER]),
        **_MYSQL,
    ),
    GauntletWorkload(
        "inserts-beside-primary-key-lookups",
        f"100 rows a round into {_TABLE}, beside 100 lookups by primary key.",
        f"{_COMBINED}; a lookup reads one page of the primary key at most.",
        {**_INSERTS, "lookups": _times(100, _look_up_id)},
        one_of=(_RULE,),
        **_ONE_TABLE,
    ),
    GauntletWorkload(
        "secondary-key-lookups",
        f"150 lookups a round by the secondary indexes of {_TABLE}, beside two inserts.",
        "The lookups read the pages, and no buffer takes their reads away.",
        {
            "inserts": clients.insert(WRITTEN, 2, keys=INDEXES, size=24),
            "lookups": _times(150, partial(_look_up_key, WRITTEN)),
        },
        never=(_RULE,),
        **_ONE_TABLE,
    ),
    GauntletWorkload(
        "ascending-key-beside-lookups",
        "100 rows a round whose secondary key ascends, beside 150 lookups by it, on 262,144 rows.",
        "New entries go to the last page, which is in the pool: only lookups read.",
        {"inserts": _times(10, _insert_later), "lookups": _times(150, _look_up_time)},
        never=(_RULE,),
        prepare=_timed,
        **_MYSQL,
    ),
    GauntletWorkload(
        "deletes",
        f"100 rows a round are deleted by primary key from {_TABLE}.",
        "Purge reads the entries' pages soon after, so buffering a delete saves nothing.",
        {"deletes": _times(100, _delete)},
        never=(_RULE,),
        **_ONE_TABLE,
    ),
)
