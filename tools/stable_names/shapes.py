"""The names in a JSON schema: each field by its path, with its types and the words that it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
Named = tuple[str, str]
"""A name, and what its description says."""


def fields(schema: Schema, document: Schema, path: str = "", seen: tuple[str, ...] = ()) -> Iterator[Named]:
    """Every field below a schema, such as ``recommendations[].rule: string``.

    Args:
        schema: The schema.
        document: What its references lead into.
        path: Its own path.
        seen: References on the way here: a shape that holds itself is gone through once.
    """
    if (reference := schema.get("$ref")) is not None:
        if reference not in seen:
            yield from fields(_at(document, reference), document, path, (*seen, reference))
        return
    said = str(schema.get("description", ""))
    yield from (
        (f"{path} = {word}", said) for word in ([schema["const"]] if "const" in schema else schema.get("enum", ()))
    )
    yield from ((f"{path}: {kind}", said) for kind in _kinds(schema))
    yield from ((_joined(path, name), str(each.get("description", ""))) for name, each in _properties(schema))
    for below, each in _parts(schema, path):
        yield from fields(each, document, below, seen)


def _parts(schema: Schema, path: str) -> Iterator[tuple[str, Schema]]:
    """What a schema is made of, with the path of each."""
    yield from ((path, each) for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key, ()))
    yield from ((_joined(path, name), each) for name, each in _properties(schema))
    marks = (("items", "[]"), ("additionalProperties", ".*"))
    yield from ((path + mark, each) for key, mark in marks if isinstance(each := schema.get(key), Mapping))
    yield from ((f"{path}[{number}]", each) for number, each in enumerate(schema.get("prefixItems", ())))


def _properties(schema: Schema) -> Iterable[tuple[str, Schema]]:
    found: Mapping[str, Schema] = schema.get("properties", {})
    return found.items()


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _kinds(schema: Schema) -> list[str]:
    """Types of values. An object shows by its fields, an array by its items; null says nothing of a value."""
    found = schema.get("type", [])
    return [kind for kind in ([found] if isinstance(found, str) else found) if kind not in ("null", "object", "array")]


def _at(document: Schema, reference: str) -> Schema:
    found: Any = document
    for key in reference.removeprefix("#/").split("/"):
        found = found[key]
    assert isinstance(found, Mapping)  # noqa: S101 - references lead to schemas
    return found
