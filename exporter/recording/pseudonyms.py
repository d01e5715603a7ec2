"""Names in place of the owner's, the same for the same name, that tell nothing of it."""

from __future__ import annotations

import secrets
from typing import Literal

from exporter.collectors.base import SYSTEM_SCHEMAS
from exporter.table_names import from_filename, from_quoted, logical_table

Kind = Literal["schema", "table", "partition", "index", "column", "user", "host"]

_OWN: dict[Kind, frozenset[str]] = {
    "schema": frozenset(SYSTEM_SCHEMAS),
    "index": frozenset({"primary", "gen_clust_index", "fts_doc_id_index"}),
    "column": frozenset({"db_row_id", "db_trx_id", "db_roll_ptr", "fts_doc_id"}),
    "host": frozenset({"%", "localhost", "127.0.0.1", "::1"}),
}
"""Names that are the server's own, by kind and in lower case: they stay."""
_PARTITION = "#p#"
_DICTIONARY, _TEMPORARY = "SYS_", "#sql"
"""How InnoDB begins the names of its own tables, and of those that come and go with a statement."""


class StandIns:
    """Stand-ins drawn by lot, so that nobody finds a name by trying likely ones."""

    def __init__(self) -> None:
        self._given: dict[tuple[Kind, str], str] = {}
        self._taken: set[str] = set()

    def name(self, kind: Kind, name: str) -> str:
        """The stand-in for a name; the server's own names, and an empty one, stand for themselves."""
        if not name or name.lower() in _OWN.get(kind, ()):
            return name
        if (kind, name) not in self._given:
            begin = _TEMPORARY if kind == "table" and name.startswith(_TEMPORARY) else ""
            self._given[kind, name] = begin + self._new(kind)
        return self._given[kind, name]

    def _new(self, kind: Kind) -> str:
        while (made := f"{kind}_{secrets.token_hex(4)}") in self._taken:
            pass
        self._taken.add(made)
        return made

    def partitioned(self, name: str) -> str:
        """A table's name that may be that of a partition, such as ``orders#P#p0``."""
        table = logical_table(name)
        return self.name("table", table) + self._partition(name[len(table) :])

    def dictionary(self, name: str) -> str:
        """A name as InnoDB's dictionary and the data folder have it, such as ``shop/order@002dlines#p#p0``."""
        schema, table = from_filename(name)
        _, slash, rest = name.partition("/")
        if not slash:
            return self._without_schema(name)
        partition = self._partition(rest[len(logical_table(rest)) :])
        return f"{self.name('schema', schema)}/{self.name('table', table)}{partition}"

    def quoted(self, name: str) -> str:
        """A name as INNODB_BUFFER_PAGE_LRU has it: ```shop`.`orders` /* Partition `p0` */``; less the partition."""
        schema, table = from_quoted(name)
        if not schema:
            return f"`{self._without_schema(table)}`"
        return f"`{self.name('schema', schema)}`.`{self.name('table', table)}`"

    def _without_schema(self, name: str) -> str:
        return name if name.startswith(_DICTIONARY) else self.name("table", name)

    def columns(self, names: str) -> str:
        """Names of columns, divided by commas."""
        return ",".join(self.name("column", each) for each in names.split(","))

    def account(self, account: str) -> tuple[str, str]:
        """User and host of an account such as ``advisor@10.0.0.%``."""
        user, _, host = account.rpartition("@")
        return self.name("user", user), self.name("host", host)

    def _partition(self, suffix: str) -> str:
        return f"{_PARTITION}{self.name('partition', suffix[len(_PARTITION) :])}" if suffix else ""
