"""The text of SHOW ENGINE INNODB STATUS: read in every form that servers print, and printed anew without statements.

Forms (see tests/captures): MySQL 5.6–9.7 and MariaDB 10.5 always print ``Ibuf: size …`` under INSERT BUFFER AND
ADAPTIVE HASH INDEX. MariaDB 10.6–10.11 print a section INSERT BUFFER without the prefix, and only when the change
buffer is not empty. MariaDB 11 has none. INDIVIDUAL BUFFER POOL INFO comes only with more than one instance. The
printed rates (``reads/s``) are never used: each reader of this text resets them for all readers.

Recordings that are stored or shared hold a shortened text: the original may be 1 MiB long and holds clients'
statements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from exporter.rows import Rows, Value, count_or_none, lower_half, text

_HEAD = "INNODB MONITOR OUTPUT"
_END = re.compile(r"\n-+\nEND OF INNODB MONITOR OUTPUT\n=+\s*\Z")
_LONGEST_END = 256
_AFTER_QUERIES = "\n--------\nFILE I/O\n--------\n"
"""Clients' statements come only before this section. They may hold any text, even copies of InnoDB's sections, so only
sections after it are parsed. A number counts only with its line's end, or it may be cut short."""

# All begin with a line's end: searching for it is fast, and a section's body begins with one.
_SECTION = re.compile(r"\n-+\n([A-Z][A-Z0-9 /]*)\n-+(?=\n)")
_INSTANCE = re.compile(r"\n---BUFFER POOL ([0-9]+)(?=\n)")
_NUMBER = re.compile(r" *([0-9]{1,20})\n")
_YOUNG = re.compile(r"\nPages made young ([0-9]{1,20}), not young ([0-9]{1,20})\n")
_SIZES = re.compile(
    r"\n(?:Ibuf: )?size ([0-9]{1,20}), free list len ([0-9]{1,20}), seg size ([0-9]{1,20}), ([0-9]{1,20}) merges\n"
)
_OPERATIONS = re.compile(
    r"\n(merged|discarded) operations:\n ?insert ([0-9]{1,20}), delete mark ([0-9]{1,20}), delete ([0-9]{1,20})(?=\n)"
)

_REPLACED = "(something else)"
"""Stands for a text that is not InnoDB's: it cannot be parsed either, and is not empty."""
_UNKNOWN = 2**64 - 1
"""Stands for a number that is not known in a printed line: the parser treats it as a count that has wrapped below 0."""


@dataclass(frozen=True, slots=True)
class PoolText:
    """A buffer pool, as the text prints it."""

    size_pages: int | None
    free_pages: int | None
    database_pages: int | None
    old_pages: int | None
    modified_pages: int | None
    made_young: int | None
    """Pages, counted since the server's start."""
    not_made_young: int | None
    """Accesses, counted since the server's start."""


@dataclass(frozen=True, slots=True)
class ChangeBufferText:
    """The change buffer, as the text prints it. Merges and operations are counted since the server's start."""

    size_pages: int
    free_list_pages: int
    segment_pages: int
    merges: int
    merged_inserts: int | None
    merged_delete_marks: int | None
    merged_deletes: int | None
    discarded_inserts: int | None
    discarded_delete_marks: int | None
    discarded_deletes: int | None


@dataclass(frozen=True, slots=True)
class InnodbStatus:
    """The parsed parts of the text."""

    total: PoolText | None
    """The sum of all buffer pool instances, as printed."""
    pools: tuple[PoolText, ...]
    """The instances; empty if there is only one."""
    change_buffer: ChangeBufferText | None
    """None if no section was printed: MariaDB 10.6+ prints it only when it is not empty."""
    truncated: bool
    """Whether the text's end is missing."""
    checkpoint_age_bytes: int | None = None
    """Redo log written since the last checkpoint: a recovery would have to read it."""


def parse_text(status: str) -> InnodbStatus:
    """The text's numbers; a number that is not in the text is None.

    A text without its end gives no numbers: what looks like InnoDB's sections may be a client's statement. Servers cut
    a long text in the list of transactions, and keep its end.

    Raises:
        ValueError: It is not the text of SHOW ENGINE INNODB STATUS.
    """
    if _HEAD not in status:
        raise ValueError("not the text of SHOW ENGINE INNODB STATUS")
    complete = _END.search(status, max(0, len(status) - _LONGEST_END)) is not None
    start = status.rfind(_AFTER_QUERIES) if complete else -1
    sections = dict(_parts(_SECTION, status[start:])) if start >= 0 else {}
    pool = sections.get("BUFFER POOL AND MEMORY")
    individual = sections.get("INDIVIDUAL BUFFER POOL INFO", "")
    return InnodbStatus(
        total=None if pool is None else _pool(pool),
        pools=tuple(_pool(body) for _, body in _parts(_INSTANCE, individual)),
        change_buffer=_change_buffer(
            sections.get("INSERT BUFFER AND ADAPTIVE HASH INDEX", sections.get("INSERT BUFFER", ""))
        ),
        truncated=not complete,
        checkpoint_age_bytes=_checkpoint_age(sections.get("LOG", "")),
    )


def _parts(start: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Parts of the text: each match's group, and the text up to the line before the next match."""
    name, begin = None, 0
    for match in start.finditer(text):
        if name is not None:
            yield name, text[begin : match.start() + 1]
        name, begin = match[1], match.end()
    if name is not None:
        yield name, text[begin:]


def _pool(section: str) -> PoolText:
    young = _YOUNG.search(section)
    return PoolText(
        size_pages=_labelled(section, "\nBuffer pool size "),
        free_pages=_labelled(section, "\nFree buffers "),
        database_pages=_labelled(section, "\nDatabase pages "),
        old_pages=_labelled(section, "\nOld database pages "),
        modified_pages=_labelled(section, "\nModified db pages "),
        made_young=count_or_none(young[1]) if young else None,
        not_made_young=count_or_none(young[2]) if young else None,
    )


def _labelled(section: str, label: str) -> int | None:
    """The number on the first line of this label."""
    at = section.find(label)
    number = _NUMBER.match(section, at + len(label)) if at >= 0 else None
    return count_or_none(number[1]) if number else None


def _checkpoint_age(section: str) -> int | None:
    written = _labelled(section, "\nLog sequence number ")
    checkpoint = _labelled(section, "\nLast checkpoint at ")
    return None if written is None or checkpoint is None or written < checkpoint else written - checkpoint


def _change_buffer(section: str) -> ChangeBufferText | None:
    sizes = _SIZES.search(section)
    if sizes is None:
        return None
    size, free_list, segment = map(lower_half, sizes.group(1, 2, 3))
    merges = count_or_none(sizes[4])
    if size is None or free_list is None or segment is None or merges is None:
        return None
    operations = {
        match[1]: (count_or_none(match[2]), count_or_none(match[3]), count_or_none(match[4]))
        for match in _OPERATIONS.finditer(section)
    }
    unknown = (None, None, None)
    return ChangeBufferText(
        size,
        free_list,
        segment,
        merges,
        *operations.get("merged", unknown),
        *operations.get("discarded", unknown),
    )


def without_statements(rows: Rows) -> Rows:
    """The result with its text printed anew from the parsed parts; a text that cannot be parsed is replaced."""
    # The other columns name the engine.
    shortened = (tuple(_shortened(value) if name == "status" else "" for name, value in row.items()) for row in rows)
    return Rows(rows.columns, tuple(shortened))


def _shortened(value: Value) -> str:
    status = text(value)
    try:
        return printed(parse_text(status))
    except ValueError:
        return _REPLACED if status.strip() else ""


def printed(status: InnodbStatus) -> str:
    """A text that parses to the same status, with the titles and lines that servers print."""
    lines = ["=====", "INNODB MONITOR OUTPUT", "====="]
    if not status.truncated:
        lines += ["--------", "FILE I/O", "--------", *_printed_sections(status)]
        lines += ["-----", "END OF INNODB MONITOR OUTPUT", "====="]
    return "\n".join([*lines, ""])


def _printed_sections(status: InnodbStatus) -> Iterator[str]:
    if (buffered := status.change_buffer) is not None:
        yield from _titled("INSERT BUFFER AND ADAPTIVE HASH INDEX", *_change_buffer_lines(buffered))
    if (age := status.checkpoint_age_bytes) is not None:
        yield from _titled("LOG", f"Log sequence number {age}", "Last checkpoint at  0")
    if status.total is not None:
        yield from _titled("BUFFER POOL AND MEMORY", *_pool_lines(status.total))
    if status.pools:
        instances = (
            line for n, pool in enumerate(status.pools) for line in (f"---BUFFER POOL {n}", *_pool_lines(pool))
        )
        yield from _titled("INDIVIDUAL BUFFER POOL INFO", *instances)


def _titled(title: str, *lines: str) -> tuple[str, ...]:
    return ("-----", title, "-----", *lines)


def _pool_lines(pool: PoolText) -> Iterator[str]:
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


def _change_buffer_lines(buffered: ChangeBufferText) -> Iterator[str]:
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
