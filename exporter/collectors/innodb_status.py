"""SHOW ENGINE INNODB STATUS: buffer pool, change buffer and checkpoint, in every text form that servers print.

Forms (see tests/captures): MySQL 5.6–9.7 and MariaDB 10.5 always print ``Ibuf: size …`` under INSERT BUFFER AND
ADAPTIVE HASH INDEX. MariaDB 10.6–10.11 print a section INSERT BUFFER, without the prefix, and only when the
change buffer is not empty. MariaDB 11 has none. INDIVIDUAL BUFFER POOL INFO comes only with more than one
instance. The printed rates (``reads/s``) are never used: each reader of this text resets them for everyone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from exporter.collectors.base import Collector, fixed
from exporter.rows import Rows, text
from exporter.snapshot import ChangeBufferText, InnodbStatus, PoolText

SQL = "SHOW ENGINE INNODB STATUS"
_LOWER_HALF = 0xFFFFFFFF
_END = "END OF INNODB MONITOR OUTPUT"
_AFTER_QUERIES = "\n--------\nFILE I/O\n--------\n"
"""Only before this section are there texts of clients' statements, which may hold anything, even such sections.

Those behind it are the ones that are parsed. A number must have its line's end behind it, lest it be cut short.
"""

_SECTION = re.compile(r"^-+\n([A-Z][A-Z0-9 /]*)\n-+\n", re.MULTILINE)
_INSTANCE = re.compile(r"^---BUFFER POOL (\d+)\n", re.MULTILINE)
_SIZES = re.compile(r"^(?:Ibuf: )?size (\d+), free list len (\d+), seg size (\d+), (\d+) merges\n", re.MULTILINE)
_OPERATIONS = re.compile(
    r"^{kind} operations:\n ?insert (\d+), delete mark (\d+), delete (\d+)\n".replace("{kind}", "(merged|discarded)"),
    re.MULTILINE,
)


def parse(results: Sequence[Rows]) -> InnodbStatus:
    """The parsed text of the one row's Status column."""
    return parse_text(text(next(iter(results[0]))["status"]))


def parse_text(status: str) -> InnodbStatus:
    """What the text says; what it does not say is None. Numbers come from the text or not at all.

    Raises:
        ValueError: This is no INNODB STATUS text.
    """
    if "INNODB MONITOR OUTPUT" not in status:
        raise ValueError("not the text of SHOW ENGINE INNODB STATUS")
    sections = _sections(status[status.rfind(_AFTER_QUERIES) :]) if _AFTER_QUERIES in status else {}
    pool = sections.get("BUFFER POOL AND MEMORY")
    individual = sections.get("INDIVIDUAL BUFFER POOL INFO", "")
    instances = list(_INSTANCE.finditer(individual))
    return InnodbStatus(
        total=None if pool is None else _pool(pool),
        pools=tuple(
            _pool(individual[instance.end() : end])
            for instance, end in zip(instances, _ends(instances, individual), strict=True)
        ),
        change_buffer=_change_buffer(
            sections.get("INSERT BUFFER AND ADAPTIVE HASH INDEX", sections.get("INSERT BUFFER", ""))
        ),
        truncated=_END not in status,
        checkpoint_age_bytes=_checkpoint_age(sections.get("LOG", "")),
    )


def _sections(status: str) -> dict[str, str]:
    """Section texts by title."""
    titles = list(_SECTION.finditer(status))
    return {match[1]: status[match.end() : end] for match, end in zip(titles, _ends(titles, status), strict=True)}


def _ends(starts: Sequence[re.Match[str]], text: str) -> list[int]:
    """Where the parts end that begin with each of ``starts``: at the next one, the last at the end of ``text``."""
    return [match.start() for match in starts[1:]] + [len(text)] if starts else []


def _pool(section: str) -> PoolText:
    young = re.search(r"^Pages made young (\d+), not young (\d+)\n", section, re.MULTILINE)
    return PoolText(
        size_pages=_labelled(section, "Buffer pool size"),
        free_pages=_labelled(section, "Free buffers"),
        database_pages=_labelled(section, "Database pages"),
        old_pages=_labelled(section, "Old database pages"),
        modified_pages=_labelled(section, "Modified db pages"),
        made_young=int(young[1]) if young else None,
        not_made_young=int(young[2]) if young else None,
    )


def _labelled(section: str, label: str) -> int | None:
    found = re.search(rf"^{label} +(\d+)\n", section, re.MULTILINE)
    return int(found[1]) if found else None


def _checkpoint_age(section: str) -> int | None:
    written, checkpoint = _labelled(section, "Log sequence number"), _labelled(section, "Last checkpoint at")
    return None if written is None or checkpoint is None else written - checkpoint


def _change_buffer(section: str) -> ChangeBufferText | None:
    sizes = _SIZES.search(section)
    if sizes is None:
        return None
    # MariaDB 10.11 prints 64 bits of which the upper half is garbage (seen: 4355096838145 for 1).
    size, free_list, segment = (int(sizes[group]) & _LOWER_HALF for group in (1, 2, 3))
    operations = {match[1]: (int(match[2]), int(match[3]), int(match[4])) for match in _OPERATIONS.finditer(section)}
    unknown = (None, None, None)
    return ChangeBufferText(
        size,
        free_list,
        segment,
        int(sizes[4]),
        *operations.get("merged", unknown),
        *operations.get("discarded", unknown),
    )


COLLECTOR = Collector("innodb_status", fixed(SQL), parse, privilege="PROCESS ON *.*", every=15.0)
