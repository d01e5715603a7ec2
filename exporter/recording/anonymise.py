"""Recordings that name nothing of the owner's: what is not known to be the server's own word is left out or replaced.

What the parsers read stays, so that a replay gives the same snapshots, but for the names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path, PurePath

from exporter.collectors import count_statements
from exporter.knowledge import SETTINGS
from exporter.recording.file import Recorder
from exporter.recording.innodb_status_text import without_statements
from exporter.recording.pseudonyms import StandIns
from exporter.rows import Rows, Value, number, text
from exporter.sampling.assembly import Answer
from exporter.server import Server

DATADIR = "/var/lib/mysql"
_REASONS = {
    "privilege": "the account may not read this",
    "deadline": "it took longer than it may",
    "failed": "it could not be read",
}
"""In place of what the server says, which names accounts, hosts and tables."""

Row = Mapping[str, Value]
Treatment = Callable[[StandIns, Rows], Rows]


class Anonymous(Recorder):
    """A recorder that leaves out or replaces every name of the owner's, and every statement.

    Stand-ins are drawn anew for each recording.
    """

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            OSError: It cannot be written.
        """
        super().__init__(path)
        self._names = StandIns()
        self._account = ("", "")

    def session(self, server: Server, account: str) -> None:
        """Keep what the server is, without what its owner calls it."""
        self._account = self._names.account(account)
        plain = replace(server, version_text=plain_version(server.version_text), comment=plain_words(server.comment))
        super().session(plain, "@".join(self._account))

    def answer(self, answer: Answer) -> None:
        """Keep an answer, rewritten; of a collector that is not known here, nothing."""
        treatment = _TREATMENTS.get(answer.collector)
        if treatment is None:
            return
        super().answer(
            replace(
                answer,
                results=tuple(treatment(self._names, rows) for rows in answer.results),
                reason=_REASONS.get(answer.failure or "", answer.reason),
                cure=self._cure(answer.cure),
            )
        )

    def _cure(self, cure: str | None) -> str | None:
        if cure is None or not cure.startswith("GRANT "):
            return cure
        user, host = self._account
        return f"{cure.partition(' TO ')[0]} TO '{user}'@'{host}'"


# What the server is

_WORD = re.compile(r"[A-Za-z0-9_]+")
_KNOWN_WORD = re.compile(
    r"\d+|\d*(?:deb|ubu|ubuntu|el|fc|rc)\d*(?:u\d+)?|mysql|mariadb|maria|percona|aurora|amazon|rds|azure|google|community|"
    r"enterprise|commercial|cluster|server|edition|gpl|source|distribution|binary|org|debian|ubuntu|from|log|debug|"
    r"release|linux|gnu|glibc\d*|win32|win64|x86_64|aarch64|arm64",
    re.IGNORECASE,
)


def plain_words(said: str) -> str:
    """A comment of whoever built the server, as it is where all its words are known here, else only those that are."""
    words = _WORD.findall(said)
    known = [word for word in words if _KNOWN_WORD.fullmatch(word)]
    return said if len(known) == len(words) else " ".join(word for word in known if not word.isdecimal())


def plain_version(version: str) -> str:
    """A version without suffixes that are not known here: ``8.0.36-acme-log`` is ``8.0.36-log``."""
    return re.sub(
        rf"[^A-Za-z0-9_]*({_WORD.pattern})", lambda part: part[0] if _KNOWN_WORD.fullmatch(part[1]) else "", version
    )


# What the collectors read: a treatment for each

_PLAIN = re.compile(r"ON|OFF|YES|NO|", re.IGNORECASE)
_PRIVATE = frozenset({"port"})


def _is_plain(value: Value) -> bool:
    """Whether a value is a number or a switch."""
    said = text(value)
    return number(value) is not None or _PLAIN.fullmatch(said) is not None


def _numbers(_: StandIns, rows: Rows) -> Rows:
    return Rows(rows.columns, tuple(tuple(None if isinstance(v, str) else v for v in row) for row in rows.rows))


def _columns(**treated: Callable[[StandIns, str], str]) -> Treatment:
    """Texts of these columns are rewritten, numbers stay, and texts of other columns are left out."""

    def treat(names: StandIns, rows: Rows) -> Rows:
        def value(column: str, value: Value) -> Value:
            if not isinstance(value, str):
                return value
            return treated[column](names, value) if column in treated else None

        pairs = (zip(rows.columns, row, strict=True) for row in rows.rows)
        return Rows(rows.columns, tuple(tuple(value(*pair) for pair in row) for row in pairs))

    return treat


def _each(rewrite: Callable[[StandIns, Row], Row | None]) -> Treatment:
    """Each row is rewritten, or left out where that gives None."""

    def treat(names: StandIns, rows: Rows) -> Rows:
        kept = (made for row in rows if (made := rewrite(names, row)) is not None)
        return Rows(rows.columns, tuple(tuple(row[column] for column in rows.columns) for row in kept))

    return treat


def _own(_: StandIns, said: str) -> str:
    return said


def _schema(names: StandIns, name: str) -> str:
    return names.name("schema", name)


def _table(names: StandIns, name: str) -> str:
    return names.name("table", name)


def _index(names: StandIns, name: str) -> str:
    return names.name("index", name)


def _longest_prefix(names: StandIns, said: str) -> str:
    statistic, space, columns = said.partition(" ")
    return f"{statistic}{space}{names.columns(columns)}"


def _pairs(kept: Callable[[str, Value], Value]) -> Treatment:
    """Names and values, whatever the two columns are called; rows of which ``kept`` leaves nothing are left out."""

    def treat(_: StandIns, rows: Rows) -> Rows:
        pairs = ((name, kept(text(name).lower(), value)) for name, value in rows.rows)
        return Rows(rows.columns, tuple(pair for pair in pairs if pair[1] is not None))

    return treat


def _status(_: str, value: Value) -> Value:
    return None if number(value) is None else value


def _variable(name: str, value: Value) -> Value:
    match name:
        case "version":
            return plain_version(text(value))
        case "version_comment" | "version_compile_os" | "version_compile_machine" | "license":
            return plain_words(text(value))
        case _:
            return value if name not in _PRIVATE and (name in SETTINGS or _is_plain(value)) else None


def _file(names: StandIns, row: Row) -> Row | None:
    path = PurePath(text(row["file_name"]))
    if path.parent == PurePath(text(row["datadir"])):
        return None  # general tablespaces and the like, which are of no one table
    folder, _, table = names.dictionary(f"{path.parent.name}/{path.stem}").partition("/")
    file = PurePath(DATADIR, folder, table) if folder else PurePath("/", table)
    return {**row, "file_name": f"{file}{path.suffix}", "datadir": f"{DATADIR}/"}


def _count(names: StandIns, row: Row) -> Row | None:
    found = count_statements.parse([Rows(tuple(row), (tuple(row.values()),))])
    for table, counted in found.items():
        schema = names.name("schema", table.schema)
        hint = " FORCE INDEX ( PRIMARY )" if counted.forced_primary else ""
        digest = f"SELECT COUNT ( * ) FROM `{schema}` . `{names.name('table', table.table)}`{hint}"
        return {**row, "schema_name": schema, "digest_text": digest}
    return None


# As in the kernel's Documentation/admin-guide/devices.txt; a mapped device or an array may bear any name.
_DISK = re.compile(
    r"(?:sd|hd|vd|xvd)[a-z]+|nvme\d+(?:c\d+)?n\d+|(?:md|dm-|loop|nbd|rbd|zd|drbd|mmcblk|pmem|bcache|ram)\d+"
)
_FILE_SYSTEM = re.compile(r"ext[234]|xfs|btrfs|zfs|overlay|tmpfs|nfs4?|f2fs|jfs|reiserfs|bcachefs|ceph|9p|virtiofs")


def _machine(name: str, value: Value) -> Value:
    match name, value:
        case "device", str():
            return ", ".join(each if _DISK.fullmatch(each) else "disk" for each in value.split(", "))
        case "filesystem", str():
            return value if _FILE_SYSTEM.fullmatch(value) else "other"
        case "device_source", str() if value.startswith("the data folder is on "):
            return "the data folder's block device cannot be told"
        case _:
            return value


def _innodb_status(_: StandIns, rows: Rows) -> Rows:
    return without_statements(rows)


_TREATMENTS: Mapping[str, Treatment] = {
    "status": _pairs(_status),
    "variables": _pairs(_variable),
    "pools": _numbers,
    "innodb_metrics": _columns(name=_own),
    "metric_kinds": _columns(name=_own, subsystem=_own, type=_own),
    "innodb_status": _innodb_status,
    "instrumentation": _columns(name=_own, enabled=_own, setup=_own),
    "table_scans": _columns(object_schema=_schema, object_name=_table),
    "count_statements": _each(_count),
    "data_files": _numbers,
    "table_files": _each(_file),
    "cached_indexes": _columns(table_name=StandIns.dictionary, index_name=_index),
    "index_sizes": _columns(
        database_name=_schema, table_name=StandIns.partitioned, index_name=_index, longest_prefix=_longest_prefix
    ),
    "indexes": _columns(table_name=StandIns.dictionary, index_name=_index),
    "lru_pages": _columns(table_name=StandIns.quoted, index_name=_index),
    "ddl": _columns(enabled=_own, event_name=_own),
    "machine": _pairs(_machine),
    "server_time": _numbers,
    "parallel_readers": _numbers,
}
