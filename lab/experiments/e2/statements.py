"""The statements of E2: the published ones, with the published server's clustered index forced."""

from __future__ import annotations

from typing import Any

import pymysql

from advisor.models.lru.scenario import Scan
from lab.harness.workloads import SCHEMA, count, scan_slowly
from lab.lru_scenarios import PARALLEL_READ_THREADS


def by_threads(connection: pymysql.Connection[Any], table: str, _step: Scan) -> None:
    """COUNT(*) by parallel threads, MySQL 8.0's default number."""
    _count(connection, table, PARALLEL_READ_THREADS)


def by_one(connection: pymysql.Connection[Any], table: str, _step: Scan) -> None:
    """COUNT(*) with innodb_parallel_read_threads = 1."""
    _count(connection, table, 1)


def by_one_slowed(connection: pymysql.Connection[Any], table: str, step: Scan) -> None:
    """COUNT(*) by one thread; for a step with a duration, a sum over the rows instead, which can be slowed down."""
    if step.seconds:
        scan_slowly(connection, table, step.pages, step.seconds)
    else:
        by_one(connection, table, step)


def above_zero(connection: pymysql.Connection[Any], table: str, _step: Scan) -> None:
    """COUNT(*) of every row with a condition, which has no parallel readers."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {SCHEMA}.{table} FORCE INDEX (PRIMARY) WHERE id > 0")
        cursor.fetchall()


def _count(connection: pymysql.Connection[Any], table: str, threads: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET innodb_parallel_read_threads = {threads}")
    count(connection, table, force_primary=True)
