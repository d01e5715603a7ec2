"""Random names in place of the owner's names: equal names get equal pseudonyms."""

from __future__ import annotations

import secrets
from typing import Literal

from exporter.table_names import PARTITION, SYSTEM_SCHEMAS, from_filename, from_quoted, logical_table

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


class Pseudonyms:
    """Pseudonyms are random, so that nobody can find a name by trying likely ones."""

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
        return ",".join(self.name("column", each) for each in names.split(","))

    def account(self, account: str) -> tuple[str, str]:
        """User and host of an account such as ``advisor@10.0.0.%``."""
        user, _, host = account.rpartition("@")
        return self.name("user", user), self.name("host", host)

    def _partition(self, suffix: str) -> str:
        return f"{PARTITION}{self.name('partition', suffix[len(PARTITION) :])}" if suffix else ""
