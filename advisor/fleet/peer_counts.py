"""COUNT(*) by table, from the digests of statements that mysqld_exporter exports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from advisor.fleet import queries
from advisor.fleet.readings import Reading
from advisor.fleet.sections import UNKNOWN
from advisor.observe.window import Window
from exporter.collectors import count_statements
from exporter.collectors.count_statements import COUNT_STATEMENTS, CountStatement
from exporter.rows import PICOSECONDS, Rows
from exporter.snapshot import Snapshot, Table

Counted = Mapping[Table, CountStatement] | None
"""What was counted up to a point; None where it is not known."""

QUERIES = (queries.PEER_FLAGS, queries.PEER_COUNTS)
_STATEMENTS = "mysql_perf_schema_events_statements{}_total"
_LONGER = "--collect.perf_schema.eventsstatements.digest_text_limit"
_LONGEST_DIGEST, _ENOUGH = 120, 1024
"""Characters of a digest that mysqld_exporter keeps without this flag, and what the server itself keeps of one."""
_MAY_COUNT = re.compile(r"SELECT COUNT \( ?[*?] ?\)(?: AS \S+)? FROM [^ ]*(?: \. ?[^ ]*)? ?")
"""A digest that was cut before anything tells whether it counts a whole table."""
_UNKNOWN = CountStatement(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)


def counted(reading: Reading, points: Sequence[float], lower_case: float | None) -> Sequence[Counted]:
    """COUNT(*) by table at each of the points."""
    if not _tells(reading, points[-1]):
        return [None] * len(points)
    return [_at(reading, point, lower_case) for point in points]


def since_its_begin(window: Window) -> Window:
    """The window, where the counts of a table that comes new in it are not known.

    mysqld_exporter leaves out a digest that nobody used for a day, and all but the 250 slowest. So a table that comes
    new may have been counted for long.
    """
    first = window.snapshots[0][COUNT_STATEMENTS] or {}

    def known(snapshot: Snapshot) -> Snapshot:
        counts = snapshot[COUNT_STATEMENTS]
        if counts is None or counts.keys() <= first.keys():
            return snapshot
        marked = {table: each if table in first else _UNKNOWN for table, each in counts.items()}
        return snapshot.with_section(COUNT_STATEMENTS, marked)

    return Window(tuple(map(known, window.snapshots)))


def lack(reading: Reading, end: float) -> tuple[str, str | None] | None:
    """Why counts are not known although the collector is on: in words, and a cure other than the sidecar, if any.

    None where neither is so.
    """
    if not _tells(reading, end):
        return "mysqld_exporter leaves out statements without a default schema, and tells no other", None
    if any(_is_cut(digest) for (_, _, digest), _ in reading.each(_STATEMENTS.format(""), end)):
        return (
            "mysqld_exporter cuts the digest of what may be a count",
            f"start mysqld_exporter with {_LONGER}={_ENOUGH}",
        )
    return None


def _tells(reading: Reading, end: float) -> bool:
    return next(reading.each("peer-flags", end), None) is not None


def _at(reading: Reading, point: float, lower_case: float | None) -> Counted:
    """None where a digest was cut that may count a table, and where its time or its rows examined are not told."""
    rows = []
    for labels, executions in reading.each(_STATEMENTS.format(""), point):
        schema, _, digest = labels
        if _is_cut(digest):
            return None
        seconds, examined = (
            reading.value(_STATEMENTS.format(f"_{name}"), point, *labels) for name in ("seconds", "rows_examined")
        )
        if seconds is None or examined is None:
            return None
        picoseconds = round(seconds * PICOSECONDS)
        rows.append((schema, digest, round(executions), picoseconds, round(examined), lower_case, None))
    columns = ("schema_name", "digest_text", "executions", "picoseconds", "rows_examined", "lower_case", "sample_text")
    return count_statements.parse([Rows(columns, tuple(rows))])


def _is_cut(digest: str) -> bool:
    """Whether the end of what may be a count lacks: at the usual limit, or at another one within a name."""
    long = len(digest) - _LONGEST_DIGEST
    if long < 0 or not _MAY_COUNT.fullmatch(digest):
        return False
    return not long or not count_statements.counts_table(digest)
