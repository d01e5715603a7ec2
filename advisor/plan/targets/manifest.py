"""Manifests of Kubernetes: the object in a file's text, a place in it, and patches of it."""

from __future__ import annotations

import copy
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from advisor.plan.targets.target import PlanRefused

Manifest = Mapping[str, Any]
_PLAIN = re.compile(r"[A-Za-z/][\w./-]*", re.ASCII)
_WORDS = re.compile(r"y|yes|n|no|on|off|true|false|null", re.IGNORECASE)
"""What readers of YAML 1.1, such as kubectl, take for something other than a text."""
_WIDE = 1 << 20
"""Columns: no line is folded."""


@dataclass(frozen=True, slots=True)
class Named:
    """The element of a list that has a name, such as a container of a pod."""

    name: str


@dataclass(frozen=True, slots=True)
class Every:
    """All elements of a list."""


Place = tuple[str | int | Named, ...]
"""The way to a value from an object's root."""
Pattern = tuple[str | int | Named | Every, ...]
"""The way to one or more values."""


def pattern(path: str) -> Pattern:
    """A pattern of a text: ``spec/pools/[]/containers/[mysql]`` has every pool, and the containers of that name."""
    keys = path.split("/")
    return tuple(key if key[0] != "[" else Every() if key == "[]" else Named(key[1:-1]) for key in keys)


@dataclass(frozen=True, slots=True)
class ObjectPatch:
    """Operations of a JSON patch (RFC 6902), those that restore the object, and the object between them."""

    forward: tuple[Manifest, ...]
    back: tuple[Manifest, ...]
    after: Manifest


def read(text: str, kinds: Iterable[str]) -> Mapping[str, Manifest]:
    """The objects of some kinds in a manifest's text, by kind.

    Raises:
        PlanRefused: It is no YAML, or has none of them, or several of one kind.
    """
    try:
        documents = [document for document in YAML(typ="safe").load_all(text) if isinstance(document, dict)]
    except YAMLError as error:
        raise PlanRefused(f"The manifest is no YAML: {' '.join(str(error).split())}.") from None
    kinds = tuple(kinds)
    present = [item for document in documents for item in _items(document) if isinstance(item, dict)]
    manifests = {str(item["kind"]): item for item in present if item.get("kind") in kinds}
    counted = Counter(str(item.get("kind")) for item in present)
    if not manifests or any(counted[kind] > 1 for kind in manifests):
        have = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.items())) or "no object"
        raise PlanRefused(f"The manifest has to have one {' or '.join(kinds)}; it has {have}.")
    return manifests


def at(manifest: Any, place: Place) -> Any:
    """The value at a place; None where there is none."""
    return _located(manifest, place, None)[2]


def ways(manifest: Manifest, pattern: Pattern) -> list[Place]:
    """The places that a pattern means in an object; none where the object has not its lists."""
    places: list[Place] = [()]
    for key in pattern:
        if isinstance(key, Every):
            places = [(*place, number) for place in places for number, _ in enumerate(at(manifest, place) or ())]
        else:
            places = [(*place, key) for place in places]
    return places


def json_patch(manifest: Manifest, values: Mapping[Place, Any]) -> ObjectPatch:
    """A patch that puts values at places.

    What it replaces is tested first: an object that someone else has changed there meanwhile is not patched.
    """
    current = copy.deepcopy(dict(manifest))
    forward: list[Manifest] = []
    back: list[Manifest] = []
    for place, value in values.items():
        keys, after, before = _located(current, place, value)
        path = "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys)
        changed = {"op": "test", "path": path, "value": after}
        if before is None:
            forward.append({"op": "add", "path": path, "value": after})
            back[:0] = [changed, {"op": "remove", "path": path}]
        elif before != after:
            present = {"op": "test", "path": path, "value": before}
            forward += [present, {"op": "replace", "path": path, "value": after}]
            back[:0] = [changed, {"op": "replace", "path": path, "value": before}]
        _put(current, keys, copy.deepcopy(after))
    return ObjectPatch(tuple(forward), tuple(back), current)


def overlay(manifest: Manifest, values: Mapping[Place, Any], depth: int) -> tuple[Manifest, Manifest]:
    """Maps that are laid over an object to put values at places, and to take them back: null takes a key away.

    Args:
        manifest: The object.
        values: By place.
        depth: Of a key that null may take away at least: with the keys above it, defaults that others need would go.
    """
    forward: dict[str, Any] = {}
    back: dict[str, Any] = {}
    for place, value in values.items():
        keys, _, before = _located(manifest, place, value)
        lay(forward, nested(place, value))
        lay(back, nested(place[: max(len(keys), depth)], before))
    return forward, back


def nested(place: Pattern, value: Any) -> Any:
    """The object that has a value at a place, and nothing else; of a list there is one element."""
    for key in reversed(place):
        match key:
            case str():
                value = {key: value}
            case int() | Every():
                value = [value]
            case Named(name):
                value = [{"name": name, **value}]
    return value


def lay(under: dict[str, Any], over: Manifest) -> None:
    """Lay a map over another one, key by key."""
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(under.get(key), dict):
            lay(under[key], value)
        else:
            under[key] = value


def yaml_text(value: Any) -> str:
    """A value in YAML that readers of YAML 1.1 and 1.2 understand alike."""
    stream = io.StringIO()
    writer = YAML()
    writer.width = _WIDE
    writer.dump(_styled(value), stream)
    return stream.getvalue()


def _items(document: Manifest) -> Iterable[Any]:
    """The objects of a document: kubectl get without a name answers a list."""
    return (document.get("items") or ()) if document.get("kind") == "List" else (document,)


def _located(manifest: Any, place: Place, value: Any) -> tuple[list[str | int], Any, Any]:
    """The keys to the place or to its first ancestor that is missing; what has to be put there; what is there now."""
    keys: list[str | int] = []
    for depth, key in enumerate(place):
        index: str | int
        inner: Any = manifest if isinstance(manifest, list | dict) else {}
        if isinstance(key, Named):
            index = next((number for number, item in enumerate(inner) if item.get("name") == key.name), len(inner))
        else:
            index = key
        keys.append(index)
        has = index in inner if isinstance(inner, dict) else isinstance(index, int) and index < len(inner)
        manifest = inner[index] if has else None
        if manifest is None:
            [missing] = (
                nested((key,), nested(place[depth + 1 :], value))
                if isinstance(key, Named)
                else [nested(place[depth + 1 :], value)]
            )
            return keys, missing, None
    return keys, value, manifest


def _put(manifest: Any, keys: list[str | int], value: Any) -> None:
    *parents, last = keys
    for key in parents:
        manifest = manifest[key]
    if isinstance(manifest, list) and last == len(manifest):
        manifest.append(value)
    else:
        manifest[last] = value


def _styled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _styled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_styled(item) for item in value]
    if not isinstance(value, str) or (_PLAIN.fullmatch(value) and not _WORDS.fullmatch(value)):
        return value
    lines = value.split("\n")
    block = len(lines) > 1 and not value[0].isspace() and not value.endswith("\n\n")
    plain = all(line == line.rstrip() and line.replace("\t", "").isprintable() for line in lines)
    return LiteralScalarString(value) if block and plain else DoubleQuotedScalarString(value)
