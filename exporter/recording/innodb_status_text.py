"""SHOW ENGINE INNODB STATUS as short as it can be: what is parsed of it, without the statements of clients.

For recordings that are kept or handed on: a text may be 1 MiB, and holds statements that were under way.
"""

from __future__ import annotations

from collections.abc import Iterator

from exporter.collectors import innodb_status
from exporter.rows import Rows, Value, text
from exporter.snapshot import ChangeBufferText, InnodbStatus, PoolText

_UNKNOWN = 2**64 - 1
"""Stands where one number of a line is not known: the parser takes it for a count that has wrapped."""


def without_statements(rows: Rows) -> Rows:
    """The result of the statement, with its text made anew; a text that cannot be parsed is left out."""
    made = (
        tuple(
            _shortened(value) if name == "status" else "" for name, value in row.items()
        )  # the others name the engine
        for row in rows
    )
    return Rows(rows.columns, tuple(made))


def _shortened(value: Value) -> str:
    try:
        return printed(innodb_status.parse_text(text(value)))
    except ValueError:
        return ""


def printed(status: InnodbStatus) -> str:
    """A text that is parsed to just this, with the titles and lines that servers print."""
    lines = ["=====", "INNODB MONITOR OUTPUT", "====="]
    if not status.truncated:
        lines += ["--------", "FILE I/O", "--------", *_sections(status)]
        lines += ["-----", "END OF INNODB MONITOR OUTPUT", "====="]
    return "\n".join([*lines, ""])


def _sections(status: InnodbStatus) -> Iterator[str]:
    if (buffered := status.change_buffer) is not None:
        yield from _titled("INSERT BUFFER AND ADAPTIVE HASH INDEX", *_change_buffer(buffered))
    if (age := status.checkpoint_age_bytes) is not None:
        yield from _titled("LOG", f"Log sequence number {age}", "Last checkpoint at  0")
    if status.total is not None:
        yield from _titled("BUFFER POOL AND MEMORY", *_pool(status.total))
    if status.pools:
        instances = (line for n, pool in enumerate(status.pools) for line in (f"---BUFFER POOL {n}", *_pool(pool)))
        yield from _titled("INDIVIDUAL BUFFER POOL INFO", *instances)


def _titled(title: str, *lines: str) -> tuple[str, ...]:
    return ("-----", title, "-----", *lines)


def _pool(pool: PoolText) -> Iterator[str]:
    labelled = {
        "Buffer pool size  ": pool.size_pages,
        "Free buffers      ": pool.free_pages,
        "Database pages    ": pool.database_pages,
        "Old database pages": pool.old_pages,
        "Modified db pages ": pool.modified_pages,
    }
    yield from (f"{label} {pages}" for label, pages in labelled.items() if pages is not None)
    young, not_young = _known(pool.made_young, pool.not_made_young)
    yield f"Pages made young {young}, not young {not_young}"


def _change_buffer(buffered: ChangeBufferText) -> Iterator[str]:
    size, free_list, segment = buffered.size_pages, buffered.free_list_pages, buffered.segment_pages
    yield f"Ibuf: size {size}, free list len {free_list}, seg size {segment}, {buffered.merges} merges"
    for kind, counts in (
        ("merged", (buffered.merged_inserts, buffered.merged_delete_marks, buffered.merged_deletes)),
        ("discarded", (buffered.discarded_inserts, buffered.discarded_delete_marks, buffered.discarded_deletes)),
    ):
        inserts, delete_marks, deletes = _known(*counts)
        yield f"{kind} operations:"
        yield f" insert {inserts}, delete mark {delete_marks}, delete {deletes}"


def _known(*counts: int | None) -> tuple[int, ...]:
    return tuple(_UNKNOWN if count is None else count for count in counts)
