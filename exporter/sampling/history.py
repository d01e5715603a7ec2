"""The history of snapshots, bounded in time and in memory.

A value equal to the one in the snapshot before is the same object. A mapping whose values changed shares its keys with
the one before, and stores its numbers in eight bytes each instead of as objects. An hour of a server with 100 busy
tables takes 5.3 MiB so, and 19.5 MiB with dictionaries that share keys and equal values: more than a container of
128 MiB leaves to the history, which would then hold less than an hour.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import zip_longest
from typing import Any, TypeVar

from exporter.snapshot import Snapshot

MOST_BYTES = 32 << 20
"""Four times what the busiest server takes in an hour. One with other names in each answer would take gigabytes."""
_PART = 8
"""Of a container's memory, if that is less: in 64 MiB there is room for what the busiest server takes."""

_SLOT = 64
"""Bytes of an object, or of an entry of a mapping."""

Key = TypeVar("Key")
Item = TypeVar("Item")
Section = TypeVar("Section")


def history_bytes(memory_bytes: int | None) -> int:
    """What a history may take.

    Args:
        memory_bytes: What the container or machine may hold; None where not known.
    """
    return MOST_BYTES if memory_bytes is None else min(MOST_BYTES, memory_bytes // _PART)


class BoundedHistory(deque[Snapshot]):
    """Snapshots, oldest first. A new one drops the oldest where there are too many, or where they take too much."""

    def __init__(self, past: Iterable[Snapshot], length: int, most_bytes: int = MOST_BYTES) -> None:
        """It begins with the past.

        Args:
            past: Earlier snapshots, oldest first.
            length: The most snapshots.
            most_bytes: What they take together at most, roughly; two are kept in any case.
        """
        super().__init__(maxlen=length)
        self._weights: deque[int] = deque(maxlen=length)
        self._most_bytes = most_bytes
        for snapshot in past:
            self.append(snapshot)

    def append(self, snapshot: Snapshot) -> None:
        """Add the newest."""
        self._weights.append(weight(snapshot.sections, self[-1].sections if self else None))
        super().append(snapshot)
        while len(self) > 2 and sum(self._weights) > self._most_bytes:
            self._weights.popleft()
            self.popleft()

    def pop(self) -> Snapshot:  # type: ignore[override]  # of an index: a deque takes none
        """Drop the newest."""
        self._weights.pop()
        return super().pop()


class SharedColumns(Mapping[Key, Item]):
    """A read-only mapping, equal to the dictionary that it was made from and in the same order.

    Attributes:
        positions: The position of each key's item in the columns.
        order: The keys, if their order differs from that of the positions.
        item_type: The items' dataclass, built again on each access; None for other items.
        columns: A sequence for each field of that dataclass; a single sequence for other items.
    """

    __slots__ = ("columns", "item_type", "order", "positions")

    def __init__(
        self,
        positions: Mapping[Key, int],
        order: tuple[Key, ...] | None,
        item_type: type[Any] | None,
        columns: tuple[Sequence[Any], ...],
    ) -> None:
        self.positions = positions
        self.order = order
        self.item_type = item_type
        self.columns = columns

    def __getitem__(self, key: Key) -> Item:
        position = self.positions[key]
        values = [column[position] for column in self.columns]
        item: Item = values[0] if self.item_type is None else self.item_type(*values)
        return item

    def __iter__(self) -> Iterator[Key]:
        return iter(self.positions if self.order is None else self.order)

    def __len__(self) -> int:
        return len(self.positions)

    def __contains__(self, key: object) -> bool:
        return key in self.positions

    def __repr__(self) -> str:
        return repr(dict(self))


def share(section: Section, before: object = None) -> Section:
    """An equal section that shares what did not change with the section before.

    Args:
        section: Frozen dataclasses, tuples, mappings, texts and numbers.
        before: The last result of this function for the section; None for the first.
    """
    return _share(section, before)  # type: ignore[no-any-return]  # a Mapping for a mapping


def _share(section: Any, before: Any) -> Any:
    if section is before or (type(section) is type(before) and section == before):
        return before
    if isinstance(section, Mapping):
        return _mapping(section, before if isinstance(before, SharedColumns) else None)
    if isinstance(section, tuple):
        last = before if isinstance(before, tuple) else ()
        return tuple(_share(item, last[n] if n < len(last) else None) for n, item in enumerate(section))
    if is_dataclass(section):
        names = [field.name for field in fields(section)]
        section_type: Any = type(section)
        return section_type(*[_share(getattr(section, name), getattr(before, name, None)) for name in names])
    return section


def weight(section: object, before: object = None) -> int:
    """Bytes that a section takes, roughly, without what it shares with the section before.

    Args:
        section: A result of ``share``.
        before: The section that it shares with; None for none.
    """
    if section is before:
        return 0
    match section:
        case SharedColumns():
            last = before if isinstance(before, SharedColumns) else None
            known = {} if last is None else last.positions
            keys = 0 if section.positions is known else sum(_SLOT + weight(key, _same(key, known)) for key in section)
            columns = zip_longest(section.columns, () if last is None else last.columns[: len(section.columns)])
            return keys + sum(weight(column, old) for column, old in columns)
        case array():
            return len(section) * section.itemsize
        case str():
            return _SLOT + len(section)
        case tuple():
            old = before if isinstance(before, tuple) else ()
            return _SLOT + sum(8 + weight(item, old[n] if n < len(old) else None) for n, item in enumerate(section))
        case Mapping():
            old_items = before if isinstance(before, Mapping) else {}
            return sum(weight(item, old_items.get(key)) for key, item in section.items())
        case _ if is_dataclass(section):
            names = [field.name for field in fields(section)]
            return _SLOT + sum(weight(getattr(section, name), getattr(before, name, None)) for name in names)
        case _:
            return _SLOT // 2


def _same(key: object, known: Mapping[Any, int]) -> object:
    return key if key in known else None  # ``share`` keeps the keys that were known


def _mapping(items: Mapping[Any, Any], before: SharedColumns[Any, Any] | None) -> SharedColumns[Any, Any]:
    positions, order = _keys(items, before)
    values = [items[key] for key in positions]
    types = set(map(type, values))
    item_type = types.pop() if len(types) == 1 and is_dataclass(values[0]) else None
    columns = [values]
    if item_type is not None:
        columns = [[getattr(value, field.name) for value in values] for field in fields(item_type)]
    if before is None or before.positions is not positions or before.item_type is not item_type:
        return SharedColumns(positions, order, item_type, tuple(_column(column, None) for column in columns))
    shared = tuple(map(_column, columns, before.columns))
    if before.order == order and all(now is last for now, last in zip(shared, before.columns, strict=True)):
        return before
    return SharedColumns(positions, order, item_type, shared)


def _keys(
    items: Mapping[Key, Any], before: SharedColumns[Key, Any] | None
) -> tuple[Mapping[Key, int], tuple[Key, ...] | None]:
    """The position of each key, and the order of the keys if it differs from that of the positions."""
    if before is None:
        return {key: position for position, key in enumerate(items)}, None
    known = list(before.positions)
    keys = [key if (position := before.positions.get(key)) is None else known[position] for key in items]
    if keys == known:
        return before.positions, None
    if len(keys) == len(known) and all(key in before.positions for key in keys):
        return before.positions, tuple(keys)
    return {key: position for position, key in enumerate(keys)}, None


def _column(values: Sequence[Any], before: Sequence[Any] | None) -> Sequence[Any]:
    """Numbers of one type in eight bytes each; other values unchanged, equal ones shared."""
    types = set(map(type, values))
    column: Sequence[Any]
    try:
        column = array("q", values) if types == {int} else array("d", values) if types == {float} else tuple(values)
    except OverflowError:  # an unsigned 64-bit number
        column = tuple(values)
    if before is None or type(before) is not type(column):
        return column
    if column == before:
        return before
    return tuple(map(_share, column, before)) if isinstance(column, tuple) else column
