"""How E2 counts a table: the published statements, held to the clustered index that the published server read."""

from __future__ import annotations

from typing import Any

import pymysql

from advisor.models.lru.scenario import Scan
from lab.lru_scenarios import PARALLEL_READ_THREADS
from lab.workloads import SCHEMA, count, scan_slowly


def by_threads(connection: pymysql.Connection[Any], table: str, _step: Scan) -> None:
    """COUNT(*) by parallel threads, as many as MySQL 8.0 has by default."""
    _count(connection, table, PARALLEL_READ_THREADS)


def by_one(connection: pymysql.Connection[Any], table: str, _step: Scan) -> None:
    """COUNT(*) with innodb_parallel_read_threads = 1."""
    _count(connection, table, 1)


def by_one_slowed(connection: pymysql.Connection[Any], table: str, step: Scan) -> None:
    """The same; where the step has a duration a sum over the rows in its place, which can be slowed down."""
    if step.seconds:
        scan_slowly(connection, table, step.pages, step.seconds)
    else:
        by_one(connection, table, step)


def above_zero(connection: pymysql.Connection[Any], table: str, _step: Scan) -> None:
    """COUNT(*) of every row by a condition, which no parallel reader does."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {SCHEMA}.{table} FORCE INDEX (PRIMARY) WHERE id > 0")
        cursor.fetchall()


def _count(connection: pymysql.Connection[Any], table: str, threads: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET innodb_parallel_read_threads = {threads}")
    count(connection, table, force_primary=True)
