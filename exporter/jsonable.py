"""A Snapshot as plain JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def jsonable(value: Any) -> Any:
    """Dataclasses become objects; a mapping with dataclass keys becomes a list of objects that hold both."""
    if is_dataclass(value):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: jsonable(item) for key, item in value.items()}
        return [jsonable(key) | _named(jsonable(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    return value


def _named(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"value": value}
