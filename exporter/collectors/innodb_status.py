"""SHOW ENGINE INNODB STATUS: buffer pool, change buffer and checkpoint, in every text form that servers print.

Forms (see tests/captures): MySQL 5.6–9.7 and MariaDB 10.5 always print ``Ibuf: size …`` under INSERT BUFFER AND
ADAPTIVE HASH INDEX. MariaDB 10.6–10.11 print a section INSERT BUFFER, without the prefix, and only when the
change buffer is not empty. MariaDB 11 has none. INDIVIDUAL BUFFER POOL INFO comes only with more than one
instance. The printed rates (``reads/s``) are never used: each reader of this text resets them for everyone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from exporter.collectors.base import Collector, fixed
from exporter.rows import Rows, count_or_none, lower_half, text
from exporter.snapshot import ChangeBufferText, InnodbStatus, PoolText

SQL = "SHOW ENGINE INNODB STATUS"
_HEAD = "INNODB MONITOR OUTPUT"
_END = re.compile(r"\n-+\nEND OF INNODB MONITOR OUTPUT\n=+\s*\Z")
_LONGEST_END = 256
_AFTER_QUERIES = "\n--------\nFILE I/O\n--------\n"
"""Only before this section are there texts of clients' statements, which may hold anything, even such sections.

Those behind it are the ones that are parsed. A number must have its line's end behind it, lest it be cut short.
"""

# All begin with a line's end: the search for that is fast, and the bodies of sections begin with one.
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


def parse(results: Sequence[Rows]) -> InnodbStatus:
    """The parsed text of the one row's Status column."""
    return parse_text(text(next(iter(results[0]))["status"]))


def parse_text(status: str) -> InnodbStatus:
    """What the text says; what it does not say is None. Numbers come from the text or not at all.

    A text without its end says nothing: where it was cut, what looks like InnoDB's sections may be a client's.
    Servers cut one that is too long in the list of transactions, and keep its end.

    Raises:
        ValueError: This is no INNODB STATUS text.
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
    """Parts of the text by what ``start`` finds: its group, and from there to the line before the next, or the end."""
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
    found = _NUMBER.match(section, at + len(label)) if at >= 0 else None
    return count_or_none(found[1]) if found else None


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


COLLECTOR = Collector("innodb_status", fixed(SQL), parse, privilege="PROCESS ON *.*", every=15.0)
