"""Tables with hostile names on a real server, scanned again and again, and a rule of others that finds each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from advisor.contract.sql import identifier
from lab.harness.workloads import BackgroundLoad
from lab.servers import PrivateServer
from tests.hostile_names import IDENTIFIERS

SCHEMA = "sch\x1b[2Jema\u202e`; DROP"
ROWS = 5
RULE = "hostile-names"
TEXT = f"""\
id: {RULE}
title: "[red]A rule of others[/red] \\e]0;title\\a \\u202e <!channel> </pre><script>"
severity: info
confidence: 1.0
applies: {{mysql: {{from: "5.6"}}, mariadb: {{from: "10.5"}}}}
needs: [table_scans]
for_each: scans
when: [scan.passes >= 1.0]
summary: "{{scan.schema}}.{{scan.table}} is scanned \\e[31m"
evidence: [{{name: table, value: scan.table, source: "table \\u200b{{scan.table}}"}}]
action:
  - do: "Look at {{scan.table}}"
    apply: ["ANALYZE TABLE {{scan.schema:identifier}}.{{scan.table:identifier}}"]
    rollback: ["DO 0"]
why: "A rule of others.\\e]8;;http://example.com\\a"
proved: ["Not at all."]
references: ["http://example.com"]
"""


@contextmanager
def tables(server: PrivateServer) -> Iterator[None]:
    """Tables of these names that are scanned again and again."""
    schema = identifier(SCHEMA)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {schema}")
        for name in IDENTIFIERS:
            cursor.execute(f"CREATE TABLE {schema}.{identifier(name)} (id INT PRIMARY KEY, {identifier(name)} INT)")
            cursor.execute(
                f"INSERT INTO {schema}.{identifier(name)} VALUES {', '.join(f'({n}, 0)' for n in range(ROWS))}"
            )
            cursor.execute(f"ALTER TABLE {schema}.{identifier(name)} ADD INDEX {identifier(name)} ({identifier(name)})")
            cursor.execute(f"ANALYZE TABLE {schema}.{identifier(name)}")
    try:
        with BackgroundLoad(server.connect) as load:
            load.repeat(_scan_all, pause=0.5)
            yield
    finally:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {schema}")


def _scan_all(connection: Any) -> None:
    with connection.cursor() as cursor:
        for name in IDENTIFIERS:
            cursor.execute(f"SELECT SUM(id) FROM {identifier(SCHEMA)}.{identifier(name)} USE INDEX ()")
            cursor.fetchall()
