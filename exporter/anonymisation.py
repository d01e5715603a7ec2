"""Result sets without the owner's names: pseudonyms, and what collectors anonymise their rows with."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from typing import Literal

from exporter.rows import Rows, Value, text
from exporter.table_names import PARTITION, SYSTEM_SCHEMAS, from_filename, from_quoted, logical_table

Row = Mapping[str, Value]
NameKind = Literal["schema", "table", "partition", "index", "column", "user", "host"]

_OF_THE_SERVER: dict[NameKind, frozenset[str]] = {
    "schema": frozenset(SYSTEM_SCHEMAS),
    "index": frozenset({"primary", "gen_clust_index", "fts_doc_id_index"}),
    "column": frozenset({"db_row_id", "db_trx_id", "db_roll_ptr", "fts_doc_id"}),
    "host": frozenset({"%", "localhost", "127.0.0.1", "::1"}),
}
"""Names that the server itself gives, by kind and in lower case. They are kept."""
_DICTIONARY, _TEMPORARY = "SYS_", "#sql"
"""Prefixes of InnoDB's own tables, and of temporary tables."""

_WORD = re.compile(r"[A-Za-z0-9_]+")
_KNOWN_WORD = re.compile(
    r"\d+|\d*(?:deb|ubu|ubuntu|el|fc|rc)\d*(?:u\d+)?|mysql|mariadb|maria|percona|aurora|amazon|rds|azure|google|community|"
    r"enterprise|commercial|cluster|server|edition|gpl|source|distribution|binary|org|debian|ubuntu|from|log|debug|"
    r"release|linux|gnu|glibc\d*|win32|win64|x86_64|aarch64|arm64",
    re.IGNORECASE,
)


class Pseudonyms:
    """Random names in place of the owner's: nobody finds a name by trying likely ones. Equal names get equal ones."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[NameKind, str], str] = {}
        self._used: set[str] = set()

    def name(self, kind: NameKind, name: str) -> str:
        """The pseudonym of a name. Names that the server itself gives and the empty name are kept."""
        if not name or name.lower() in _OF_THE_SERVER.get(kind, ()):
            return name
        if (kind, name) not in self._by_name:
            prefix = _TEMPORARY if kind == "table" and name.startswith(_TEMPORARY) else ""
            self._by_name[kind, name] = prefix + self._new(kind)
        return self._by_name[kind, name]

    def _new(self, kind: NameKind) -> str:
        while (pseudonym := f"{kind}_{secrets.token_hex(4)}") in self._used:
            pass
        self._used.add(pseudonym)
        return pseudonym

    def schema(self, name: str) -> str:
        """A schema's name."""
        return self.name("schema", name)

    def table(self, name: str) -> str:
        """The name of a table, or of a partition as the statistics have it, such as ``orders#P#p0``.

        A table's own name may look like a partition's, so both get the same form.
        """
        table = logical_table(name)
        return self.name("table", table) + self._partition(name[len(table) :])

    def index(self, name: str) -> str:
        """An index's name."""
        return self.name("index", name)

    def dictionary(self, name: str) -> str:
        """A name as InnoDB's dictionary and the data folder have it, such as ``shop/order@002dlines#p#p0``."""
        schema, table = from_filename(name)
        _, slash, rest = name.partition("/")
        if not slash:
            return self._without_schema(name)
        partition = self._partition(rest[len(logical_table(rest)) :])
        return f"{self.schema(schema)}/{self.table(table).replace('#', '@0023')}{partition}"

    def quoted(self, name: str) -> str:
        """A name as INNODB_BUFFER_PAGE_LRU has it, without the partition: ```shop`.`orders` /* Partition `p0` */``."""
        schema, table = from_quoted(name)
        if not schema:
            return f"`{self._without_schema(table)}`"
        return f"`{self.schema(schema)}`.`{self.table(table)}`"

    def _without_schema(self, name: str) -> str:
        return name if name.startswith(_DICTIONARY) else self.table(name)

    def columns(self, names: str) -> str:
        """Column names, separated by commas."""
        return ",".join(self.name("column", column) for column in names.split(","))

    def account(self, account: str) -> tuple[str, str]:
        """User and host of an account such as ``advisor@10.0.0.%``."""
        user, _, host = account.rpartition("@")
        return self.name("user", user), self.name("host", host)

    def _partition(self, suffix: str) -> str:
        return f"{PARTITION}{self.name('partition', suffix[len(PARTITION) :])}" if suffix else ""


Anonymiser = Callable[[Pseudonyms, Rows], Rows]


def numbers(_: Pseudonyms, rows: Rows) -> Rows:
    """Numbers are kept, texts are removed."""
    return Rows(rows.columns, tuple(tuple(None if isinstance(v, str) else v for v in row) for row in rows.rows))


def columns(**rewrites: Callable[[Pseudonyms, str], str]) -> Anonymiser:
    """Texts of the named columns are rewritten, texts of other columns are removed, numbers are kept."""

    def anonymise(pseudonyms: Pseudonyms, rows: Rows) -> Rows:
        def value(column: str, value: Value) -> Value:
            if not isinstance(value, str):
                return value
            return rewrites[column](pseudonyms, value) if column in rewrites else None

        pairs = (zip(rows.columns, row, strict=True) for row in rows.rows)
        return Rows(rows.columns, tuple(tuple(value(*pair) for pair in row) for row in pairs))

    return anonymise


def unchanged(_: Pseudonyms, value: str) -> str:
    """A text of the server's own, unchanged: a rewrite for ``columns``."""
    return value


def each_row(rewrite: Callable[[Pseudonyms, Row], Row | None]) -> Anonymiser:
    """Each row is rewritten; it is removed where ``rewrite`` gives None."""

    def anonymise(pseudonyms: Pseudonyms, rows: Rows) -> Rows:
        rewritten = (new for row in rows if (new := rewrite(pseudonyms, row)) is not None)
        return Rows(rows.columns, tuple(tuple(row[column] for column in rows.columns) for row in rewritten))

    return anonymise


def name_value_pairs(rewrite: Callable[[str, Value], Value]) -> Anonymiser:
    """Rows of a name and a value, whatever the two columns are called.

    ``rewrite`` gets the name in lower case and the value. It gives the new value, or None to remove the row.
    """

    def anonymise(_: Pseudonyms, rows: Rows) -> Rows:
        pairs = ((name, rewrite(text(name).lower(), value)) for name, value in rows.rows)
        return Rows(rows.columns, tuple(pair for pair in pairs if pair[1] is not None))

    return anonymise


def plain_words(comment: str) -> str:
    """A comment of the server's builder: unchanged if all its words are known here, else only the known words."""
    words = _WORD.findall(comment)
    known = [word for word in words if _KNOWN_WORD.fullmatch(word)]
    return comment if len(known) == len(words) else " ".join(word for word in known if not word.isdecimal())


def plain_version(version: str) -> str:
    """A version without unknown suffixes: ``8.0.36-acme-log`` becomes ``8.0.36-log``."""
    return re.sub(
        rf"[^A-Za-z0-9_]*({_WORD.pattern})", lambda part: part[0] if _KNOWN_WORD.fullmatch(part[1]) else "", version
    )
