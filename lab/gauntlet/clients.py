"""Clients of workloads: each function returns a client's share of a round."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import pymysql

from lab.gauntlet.workload import ClientWork
from lab.harness import workloads
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, ask, look_up_pages
from lab.programs import sysbench
from lab.servers import PrivateServer

Connection: TypeAlias = "pymysql.Connection[Any]"


def plain(work: Callable[[Connection], object], *, every: int = 1) -> ClientWork:
    """Work that is the same in each round, or in every so many."""

    def share(connection: Connection, _: random.Random, number: int) -> None:
        if number % every == 0:
            work(connection)

    return share


def scan(table: str, *, every: int = 1) -> ClientWork:
    """A full scan."""
    return plain(partial(workloads.scan, table=table), every=every)


def count(table: str) -> ClientWork:
    """COUNT(*) of the table: by parallel readers on MySQL."""
    return plain(partial(workloads.count, table=table))


def query(sql: str, *, every: int = 1) -> ClientWork:
    """A statement."""
    return plain(lambda connection: ask(connection, sql), every=every)


def paginate(table: str) -> ClientWork:
    """The whole table by its primary key: WHERE id > the last one ORDER BY id LIMIT a page's rows."""
    return plain(partial(workloads.read_in_batches, table=table, rows=500, columns="id, LENGTH(filler)"))


def look_up(table: str, pages: int, times: int) -> ClientWork:
    """Lookups by primary key, spread evenly over so many pages."""
    return lambda connection, chooser, _: look_up_pages(
        connection, table, [chooser.randrange(pages) for _ in range(times)]
    )


def look_up_skewed(table: str, pages: int, times: int, skew: float = 1.0) -> ClientWork:
    """Lookups by primary key whose pages follow Zipf's law."""
    ranked = list(range(pages))
    random.Random(f"{table} {pages}").shuffle(ranked)
    weights = list(itertools.accumulate((rank + 1) ** -skew for rank in range(pages)))
    return lambda connection, chooser, _: look_up_pages(
        connection, table, chooser.choices(ranked, cum_weights=weights, k=times)
    )


def _update_row(connection: Connection, chooser: random.Random, table: str, pages: int) -> None:
    row = chooser.randint(1, pages * ROWS_PER_PAGE)
    filler = f"CONCAT(CHAR(97 + {row % 26}), SUBSTR(filler, 2))"
    ask(connection, f"UPDATE {SCHEMA}.{table} SET filler = {filler} WHERE id = {row}")


def update(table: str, pages: int, times: int) -> ClientWork:
    """Updates of single rows by primary key."""

    def work(connection: Connection, chooser: random.Random, _: int) -> None:
        for _ in range(times):
            _update_row(connection, chooser, table, pages)

    return work


def apply_changes(tables: dict[str, int], rows: int) -> ClientWork:
    """A replica's single-threaded applier: short transactions of row changes by primary key, in one session."""

    def work(connection: Connection, chooser: random.Random, _: int) -> None:
        for _ in range(rows // 4):
            ask(connection, "BEGIN")
            for _ in range(4):
                _update_row(connection, chooser, *chooser.choice(list(tables.items())))
            ask(connection, "COMMIT")

    return work


def insert(table: str, rows: int, *, keys: int = 0, size: int = 1_800, batch: int = 50) -> ClientWork:
    """Rows at the end of the table, with random values in its ``k<n>`` columns."""
    names = ", ".join(["id", *(f"k{n}" for n in range(1, keys + 1)), "filler"])

    def work(connection: Connection, chooser: random.Random, _: int) -> None:
        [(last,)] = ask(connection, f"SELECT MAX(id) FROM {SCHEMA}.{table}")
        for first in range(last + 1, last + rows + 1, batch):
            values = ", ".join(
                f"({', '.join([str(n), *(str(chooser.randint(0, 2147483647)) for _ in range(keys))])},"
                f" REPEAT('y', {size}))"
                for n in range(first, min(first + batch, last + rows + 1))
            )
            ask(connection, f"INSERT INTO {SCHEMA}.{table} ({names}) VALUES {values}")

    return work


def append_and_read_recent(table: str, rows: int, recent: int) -> ClientWork:
    """A time series: rows at the end of the table, and the sum of the newest rows."""
    newest = f"id > (SELECT MAX(id) - {recent} FROM {SCHEMA}.{table})"
    return together(insert(table, rows), query(f"SELECT SUM(LENGTH(filler)) FROM {SCHEMA}.{table} WHERE {newest}"))


def queue(table: str, jobs: int) -> ClientWork:
    """A queue: jobs are inserted at the end of the table, and as many are read and deleted at its beginning."""

    def take(connection: Connection) -> None:
        for _ in range(jobs):
            [(oldest,)] = ask(connection, f"SELECT id FROM {SCHEMA}.{table} ORDER BY id LIMIT 1")
            ask(connection, f"DELETE FROM {SCHEMA}.{table} WHERE id = {oldest}")

    return together(insert(table, jobs, batch=1), plain(take))


def walk(table: str, pages: int, step: int) -> ClientWork:
    """Go through a range of the primary key: so many pages a round, then the next; again at its end."""
    return lambda connection, _, number: ask(
        connection, f"SELECT SUM(LENGTH(filler)) FROM {SCHEMA}.{table} WHERE {_pages(number, pages, step)}"
    )


def update_all(table: str, pages: int, step: int) -> ClientWork:
    """A batch job: UPDATE of a range of the primary key, so many pages a round, around the table."""
    return lambda connection, _, number: ask(
        connection,
        f"UPDATE {SCHEMA}.{table} SET filler = CONCAT('{chr(97 + number % 26)}', SUBSTR(filler, 2))"
        f" WHERE {_pages(number, pages, step)}",
    )


def _pages(number: int, pages: int, step: int) -> str:
    """A condition for the rows on the pages of a round."""
    first = number * step % pages * ROWS_PER_PAGE
    return f"id > {first} AND id <= {first + step * ROWS_PER_PAGE}"


def together(*works: ClientWork) -> ClientWork:
    """Several shares, one after the other, by the same client."""
    return lambda connection, chooser, number: [work(connection, chooser, number) for work in works]


def in_turn(*works: ClientWork, rounds: int = 1) -> ClientWork:
    """Phases: so many rounds of the first share, then of the second, and so on, then the first again."""
    return lambda connection, chooser, number: works[number // rounds % len(works)](connection, chooser, number)


def once(first: ClientWork, later: ClientWork) -> ClientWork:
    """The first share in the first round, and the other one from then on."""
    return lambda connection, chooser, number: (later if number else first)(connection, chooser, number)


def sysbench_run(test: str, events: int, **options: Any) -> Callable[[PrivateServer], ClientWork]:
    """So many events of one of sysbench's tests a round, with two threads."""
    return lambda server: (
        lambda _, __, number: sysbench.run(server, test, threads=2, events=events, rand_seed=number + 1, **options)
    )
