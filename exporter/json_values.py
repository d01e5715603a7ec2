"""Snapshots and sections as plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from exporter.collectors import BY_NAME
from exporter.snapshot import Snapshot


def jsonable(value: Any) -> Any:
    """Plain JSON values.

    A dataclass becomes an object, and a set a sorted list. A mapping with dataclass keys becomes a list of objects that
    hold both key and value. A Snapshot becomes an object with every section; a section that is not known is null.
    """
    if isinstance(value, Snapshot):
        return _snapshot(value)
    if is_dataclass(value):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: jsonable(item) for key, item in value.items()}
        return [jsonable(key) | _object(jsonable(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, frozenset):
        return sorted((jsonable(item) for item in value), key=str)
    return value


def _snapshot(snapshot: Snapshot) -> dict[str, Any]:
    head = {
        field.name: jsonable(getattr(snapshot, field.name)) for field in fields(snapshot) if field.name != "sections"
    }
    return head | {name: jsonable(snapshot.sections.get(name)) for name in BY_NAME}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"value": value}
