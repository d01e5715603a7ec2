"""SHOW ENGINE INNODB STATUS: buffer pool, change buffer and checkpoint (exporter/status_text.py reads the text)."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.collectors.base import Collector, Unanswered, Unavailable, fixed
from exporter.rows import Rows, text
from exporter.status_text import InnodbStatus, parse_text, without_statements

SQL = "SHOW ENGINE INNODB STATUS"
_EMPTY = Unavailable(
    "absent",
    "the text of SHOW ENGINE INNODB STATUS is empty, as a reader instance of Aurora returns it",
    "watch the writer instance of the cluster; a reader's values are in the other sources",
)


def parse(results: Sequence[Rows]) -> InnodbStatus:
    """The parsed text of the one row's Status column.

    Raises:
        Unanswered: There is no row, or no text in it.
    """
    status = next((text(row["status"]) for row in results[0]), "")
    if not status.strip():
        raise Unanswered(_EMPTY)
    return parse_text(status)


INNODB_STATUS = Collector(
    "innodb_status",
    fixed(SQL),
    parse,
    privilege="PROCESS ON *.*",
    every=15.0,
    anonymise=lambda _, rows: without_statements(rows),
    shorten=without_statements,
)
