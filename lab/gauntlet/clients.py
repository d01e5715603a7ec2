"""Clients of workloads: each function returns a client's share of a round."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pymysql

from lab.gauntlet.workload import Work
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, look_up_pages
from lab.harness.workloads import count as count_table
from lab.harness.workloads import scan as scan_table
from lab.programs import sysbench
from lab.servers import Server

Connection = pymysql.Connection


def ask(connection: Connection[Any], sql: str) -> int:
    """Run a statement and take its rows; how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return len(cursor.fetchall())


def scan(table: str, *, every: int = 1) -> Work:
    """A full scan in every so many rounds."""

    def work(connection: Connection[Any], _: random.Random, round_: int) -> None:
        if round_ % every == 0:
            scan_table(connection, table)

    return work


def count(table: str) -> Work:
    """COUNT(*) of the table: by parallel readers on MySQL."""

    def work(connection: Connection[Any], _: random.Random, __: int) -> None:
        count_table(connection, table)

    return work


def query(sql: str, *, every: int = 1) -> Work:
    """A statement in every so many rounds."""

    def work(connection: Connection[Any], _: random.Random, round_: int) -> None:
        if round_ % every == 0:
            ask(connection, sql)

    return work


def look_up(table: str, pages: int, times: int, *, every: int = 1) -> Work:
    """Lookups by primary key, spread evenly over so many pages."""

    def work(connection: Connection[Any], chooser: random.Random, round_: int) -> None:
        if round_ % every == 0:
            look_up_pages(connection, table, [chooser.randrange(pages) for _ in range(times)])

    return work


def look_up_skewed(table: str, pages: int, times: int, skew: float = 1.0) -> Work:
    """Lookups by primary key whose pages follow Zipf's law."""
    ranked = list(range(pages))
    random.Random(f"{table} {pages}").shuffle(ranked)
    weights = list(itertools.accumulate((rank + 1) ** -skew for rank in range(pages)))

    def work(connection: Connection[Any], chooser: random.Random, _: int) -> None:
        look_up_pages(connection, table, chooser.choices(ranked, cum_weights=weights, k=times))

    return work


def update(table: str, pages: int, times: int) -> Work:
    """Updates of single rows by primary key."""

    def work(connection: Connection[Any], chooser: random.Random, _: int) -> None:
        with connection.cursor() as cursor:
            for _ in range(times):
                row = chooser.randint(1, pages * ROWS_PER_PAGE)
                cursor.execute(
                    f"UPDATE {SCHEMA}.{table} SET filler = CONCAT(CHAR(97 + {row % 26}), SUBSTR(filler, 2))"
                    f" WHERE id = {row}"
                )

    return work


def insert(table: str, rows: int, *, keys: int = 0, size: int = 1_800, batch: int = 50) -> Work:
    """Rows at the end of the table, with random values in its ``k<n>`` columns."""
    names = ", ".join(["id", *(f"k{n}" for n in range(1, keys + 1)), "filler"])

    def work(connection: Connection[Any], chooser: random.Random, _: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT MAX(id) FROM {SCHEMA}.{table}")
            [(last,)] = cursor.fetchall()
            for first in range(last + 1, last + rows + 1, batch):
                rows_ = ", ".join(
                    f"({', '.join([str(n), *(str(chooser.randint(0, 2147483647)) for _ in range(keys))])},"
                    f" REPEAT('y', {size}))"
                    for n in range(first, min(first + batch, last + rows + 1))
                )
                cursor.execute(f"INSERT INTO {SCHEMA}.{table} ({names}) VALUES {rows_}")

    return work


def walk(table: str, pages: int, each: int) -> Work:
    """Go through a range of the primary key: so many pages a round, then the next; again at its end."""

    def work(connection: Connection[Any], _: random.Random, round_: int) -> None:
        first = round_ * each % pages * ROWS_PER_PAGE
        ask(
            connection,
            f"SELECT SUM(LENGTH(filler)) FROM {SCHEMA}.{table}"
            f" WHERE id > {first} AND id <= {first + each * ROWS_PER_PAGE}",
        )

    return work


def paginate(table: str, page: int = 500) -> Work:
    """The whole table by its primary key: WHERE id > the last one ORDER BY id LIMIT a page's rows."""

    def work(connection: Connection[Any], _: random.Random, __: int) -> None:
        last = 0
        with connection.cursor() as cursor:
            while True:
                cursor.execute(
                    f"SELECT id, LENGTH(filler) FROM {SCHEMA}.{table} WHERE id > {last} ORDER BY id LIMIT {page}"
                )
                rows = cursor.fetchall()
                if not rows:
                    return
                last = rows[-1][0]

    return work


def together(*works: Work) -> Work:
    """Several shares, one after the other, by the same client."""

    def work(connection: Connection[Any], chooser: random.Random, round_: int) -> None:
        for each in works:
            each(connection, chooser, round_)

    return work


def in_turn(*works: Work, rounds: int = 1) -> Work:
    """Phases: so many rounds of the first share, then of the second, and so on, then the first again."""

    def work(connection: Connection[Any], chooser: random.Random, round_: int) -> None:
        works[round_ // rounds % len(works)](connection, chooser, round_)

    return work


def once(first: Work, later: Work) -> Work:
    """The first share in the first round, and the other one from then on."""

    def work(connection: Connection[Any], chooser: random.Random, round_: int) -> None:
        (later if round_ else first)(connection, chooser, round_)

    return work


def append_and_read_recent(table: str, rows: int, recent: int) -> Work:
    """A time series: rows at the end of the table, and the sum of the newest rows."""
    appended = insert(table, rows)

    def work(connection: Connection[Any], chooser: random.Random, round_: int) -> None:
        appended(connection, chooser, round_)
        ask(
            connection,
            f"SELECT SUM(LENGTH(filler)) FROM {SCHEMA}.{table}"
            f" WHERE id > (SELECT MAX(id) - {recent} FROM {SCHEMA}.{table})",
        )

    return work


def queue(table: str, jobs: int) -> Work:
    """A queue: jobs are inserted at the end of the table, and as many are read and deleted at its beginning."""
    inserted = insert(table, jobs, batch=1)

    def work(connection: Connection[Any], chooser: random.Random, round_: int) -> None:
        inserted(connection, chooser, round_)
        with connection.cursor() as cursor:
            for _ in range(jobs):
                cursor.execute(f"SELECT id FROM {SCHEMA}.{table} ORDER BY id LIMIT 1")
                [(oldest,)] = cursor.fetchall()
                cursor.execute(f"DELETE FROM {SCHEMA}.{table} WHERE id = {oldest}")

    return work


def apply_changes(tables: dict[str, int], rows: int) -> Work:
    """A replica's single-threaded applier: short transactions of row changes by primary key, in one session."""

    def work(connection: Connection[Any], chooser: random.Random, _: int) -> None:
        with connection.cursor() as cursor:
            for _ in range(rows // 4):
                cursor.execute("BEGIN")
                for _ in range(4):
                    table, pages = chooser.choice(list(tables.items()))
                    row = chooser.randint(1, pages * ROWS_PER_PAGE)
                    cursor.execute(
                        f"UPDATE {SCHEMA}.{table} SET filler = CONCAT(CHAR(97 + {row % 26}), SUBSTR(filler, 2))"
                        f" WHERE id = {row}"
                    )
                cursor.execute("COMMIT")

    return work


def update_all(table: str, pages: int, each: int) -> Work:
    """A batch job: UPDATE of a range of the primary key, so many pages a round, around the table."""

    def work(connection: Connection[Any], _: random.Random, round_: int) -> None:
        first = round_ * each % pages * ROWS_PER_PAGE
        ask(
            connection,
            f"UPDATE {SCHEMA}.{table} SET filler = CONCAT('{chr(97 + round_ % 26)}', SUBSTR(filler, 2))"
            f" WHERE id > {first} AND id <= {first + each * ROWS_PER_PAGE}",
        )

    return work


def sysbench_run(test: str, events: int, **options: Any) -> Callable[[Server], Work]:
    """So many events of one of sysbench's tests a round, with two threads."""

    def on(server: Server) -> Work:
        def work(_: Connection[Any], __: random.Random, round_: int) -> None:
            sysbench.run(server, test, threads=2, events=events, rand_seed=round_ + 1, **options)

        return work

    return on
