"""Sections that take little memory in a history of hundreds of snapshots.

What is as it was in the snapshot before is that same object. A mapping whose values changed shares its keys with the
one before, and keeps its numbers in eight bytes each rather than as objects: 100 tables that are read all the time
take 4 KiB a snapshot rather than 40.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")
Section = TypeVar("Section")


class SharedColumns(Mapping[Key, Item]):
    """A read-only mapping, equal to the dictionary that it was made of and in the same order.

    Attributes:
        places: Where each key's item is in the columns.
        order: The keys, where their order is another than that of the places.
        make: The items' type where they are dataclasses of one type, which are made anew for whoever asks.
        columns: A sequence for each field of that type; of other items a single one.
    """

    __slots__ = ("columns", "make", "order", "places")

    def __init__(
        self,
        places: Mapping[Key, int],
        order: tuple[Key, ...] | None,
        make: type[Any] | None,
        columns: tuple[Sequence[Any], ...],
    ) -> None:
        self.places = places
        self.order = order
        self.make = make
        self.columns = columns

    def __getitem__(self, key: Key) -> Item:
        place = self.places[key]
        made: Item = (
            self.columns[0][place] if self.make is None else self.make(*[column[place] for column in self.columns])
        )
        return made

    def __iter__(self) -> Iterator[Key]:
        return iter(self.places if self.order is None else self.order)

    def __len__(self) -> int:
        return len(self.places)

    def __contains__(self, key: object) -> bool:
        return key in self.places

    def __repr__(self) -> str:
        return repr(dict(self))


def share(section: Section, before: object = None) -> Section:
    """The same section, with what it shares with the one before kept once.

    Args:
        section: Of frozen dataclasses, tuples, mappings, texts and numbers.
        before: The section that came before it, made by this function; None for the first.
    """
    return _share(section, before)  # type: ignore[no-any-return]  # a Mapping for a mapping


def _share(section: Any, before: Any) -> Any:
    if section is before or (type(section) is type(before) and section == before):
        return before
    if isinstance(section, Mapping):
        return _mapping(section, before if isinstance(before, SharedColumns) else None)
    if isinstance(section, tuple):
        then = before if isinstance(before, tuple) else ()
        return tuple(_share(each, then[n] if n < len(then) else None) for n, each in enumerate(section))
    if is_dataclass(section):
        names = [field.name for field in fields(section)]
        make: Any = type(section)
        return make(*[_share(getattr(section, name), getattr(before, name, None)) for name in names])
    return section


def _mapping(items: Mapping[Any, Any], before: SharedColumns[Any, Any] | None) -> SharedColumns[Any, Any]:
    places, order = _keys(items, before)
    values = [items[key] for key in places]
    types = set(map(type, values))
    make = types.pop() if len(types) == 1 and is_dataclass(values[0]) else None
    columns = [values] if make is None else [[getattr(each, part.name) for each in values] for part in fields(make)]
    if before is None or before.places is not places or before.make is not make:
        return SharedColumns(places, order, make, tuple(_column(column, None) for column in columns))
    shared = tuple(map(_column, columns, before.columns))
    if before.order == order and all(now is then for now, then in zip(shared, before.columns, strict=True)):
        return before
    return SharedColumns(places, order, make, shared)


def _keys(
    items: Mapping[Key, Any], before: SharedColumns[Key, Any] | None
) -> tuple[Mapping[Key, int], tuple[Key, ...] | None]:
    """The place of each key, and the order of the keys where it is another than that of the places."""
    if before is None:
        return {key: place for place, key in enumerate(items)}, None
    known = list(before.places)
    keys = [key if (place := before.places.get(key)) is None else known[place] for key in items]
    if keys == known:
        return before.places, None
    if len(keys) == len(known) and all(key in before.places for key in keys):
        return before.places, tuple(keys)
    return {key: place for place, key in enumerate(keys)}, None


def _column(values: Sequence[Any], before: Sequence[Any] | None) -> Sequence[Any]:
    """Numbers of one type in eight bytes each, other values as they are, and equal ones shared."""
    types = set(map(type, values))
    made: Sequence[Any]
    try:
        made = array("q", values) if types == {int} else array("d", values) if types == {float} else tuple(values)
    except OverflowError:  # 64 bits without a sign
        made = tuple(values)
    if before is None or type(before) is not type(made):
        return made
    if made == before:
        return before
    return tuple(map(_share, made, before)) if isinstance(made, tuple) else made
