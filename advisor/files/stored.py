"""Items that outlive a restart: a table of the state file, with an item's JSON by its key."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from exporter import state_file
from exporter.recording.bounds import ReadBudget, TooMuch
from exporter.state_file import StateError, StateFile

log = logging.getLogger(__name__)

Item = TypeVar("Item")
TableName = Literal["entries", "hours"]


def stored_items(path: Path, table: TableName, adapter: TypeAdapter[Item]) -> tuple[list[Item], str | None]:
    """The items of a file to which its sidecar may be writing, and why others cannot be read.

    Raises:
        FileNotFoundError: There is no such file.
        StateError: It cannot be read.
    """
    items, damage = state_file.read(path, partial(_items, table, adapter))
    return list(items.values()), damage


class StoredItems(Generic[Item]):
    """The items of a table. Failures are logged by the state file, and what was not written is written later.

    Attributes:
        problem: Why the last ``keep`` failed; None after one that succeeded.
    """

    def __init__(self, state: StateFile, table: TableName, adapter: TypeAdapter[Item]) -> None:
        """Read nothing before ``load``."""
        self.problem: str | None = None
        self._state, self._table, self._adapter = state, table, adapter
        self._written: tuple[sqlite3.Connection | None, Mapping[str, Item]] = (None, {})

    def load(self) -> list[Item]:
        """What the last sidecar stored, in the order in which it was stored first."""
        try:
            connection, (items, damage) = self._state.run(self._load)
        except StateError as error:
            self.problem = str(error)
            return []
        if damage is not None:
            log.warning("%s: not all %s can be read: %s", self._state.path, self._table, damage)
        self._written = connection, items
        return list(items.values())

    def keep(self, items: Mapping[str, Item]) -> None:
        """Return once these are on the disk, and no others; or with a ``problem``.

        Args:
            items: By key. Those that are equal to what was written before are not written again.
        """
        try:
            self._state.run(partial(self._keep, items))
        except StateError as error:
            self.problem = str(error)
        else:
            self.problem = None

    def _load(self, connection: sqlite3.Connection) -> tuple[sqlite3.Connection, tuple[dict[str, Item], str | None]]:
        return connection, _items(self._table, self._adapter, connection)

    def _keep(self, items: Mapping[str, Item], connection: sqlite3.Connection) -> None:
        before, written = self._written
        if connection is not before:  # the file may be new
            written = {}
        connection.executemany(
            f"INSERT INTO {self._table} (key, content) VALUES (?, ?)"
            " ON CONFLICT (key) DO UPDATE SET content = excluded.content",
            [(key, self._json(item)) for key, item in items.items() if written.get(key) != item],
        )
        connection.executemany(
            f"DELETE FROM {self._table} WHERE key = ?",
            [(key,) for key in written if key not in items],
        )
        self._written = connection, items

    def _json(self, item: Item) -> str:
        """One line. Names of a server need not be valid text: they are escaped."""
        return json.dumps(self._adapter.dump_python(item, mode="json"), separators=(",", ":"))


def _items(
    table: TableName, adapter: TypeAdapter[Item], connection: sqlite3.Connection
) -> tuple[dict[str, Item], str | None]:
    """The items that can be read, by key, and why the first of the others cannot."""
    items: dict[str, Item] = {}
    damage: str | None = None
    budget = ReadBudget()
    for key, content in connection.execute(f"SELECT key, CAST(content AS BLOB) FROM {table} ORDER BY rowid"):
        try:
            items[str(key)] = adapter.validate_python(json.loads(budget.taken(content)))
        except TooMuch as error:
            return items, str(error)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, (key, *first["loc"])))
            damage = damage or f"{where}: {first['msg']}"
        except (ValueError, RecursionError) as error:
            damage = damage or f"{key}: {error}"
    return items, damage
