"""Patches, applied as kubectl and helm do, and the schemas of the objects."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from ruamel.yaml import YAML

from advisor.contract.plan import Patch
from tests.charts.manifests import read

CRDS = Path("shared", "crds")


def documents(text: str) -> list[Any]:
    """The documents of a text that means the same in YAML 1.1 and 1.2."""
    return [dict(document) for document in read(text)]


def operations(patch: Patch) -> list[dict[str, Any]]:
    """The operations of a JSON patch, which mean the same in YAML 1.1, for kubectl, and in 1.2."""
    loaded = [*yaml.safe_load(patch.text)]
    assert YAML(typ="safe").load(patch.text) == loaded
    return loaded


def patched(manifest: Any, patch: Patch) -> Any:
    """An object after a JSON patch (RFC 6902), or values under other values as helm lays them."""
    manifest = copy.deepcopy(manifest)
    if patch.form == "Helm values":
        return _laid(manifest, yaml.safe_load(patch.text))
    assert patch.form == "JSON patch"
    for operation in operations(patch):
        *parents, last = [key.replace("~1", "/").replace("~0", "~") for key in operation["path"].split("/")[1:]]
        parent = functools.reduce(_child, parents, manifest)
        key: Any = int(last) if isinstance(parent, list) else last
        match operation["op"]:
            case "test":
                assert parent[key] == operation["value"]
            case "add" if isinstance(parent, list):
                parent.insert(key, copy.deepcopy(operation["value"]))
            case "replace":
                assert parent[key] is not None
                parent[key] = copy.deepcopy(operation["value"])
            case "add":
                parent[key] = copy.deepcopy(operation["value"])
            case "remove":
                del parent[key]
    return manifest


def _child(parent: Any, key: str) -> Any:
    return parent[int(key) if isinstance(parent, list) else key]


def _laid(under: Any, over: Any) -> Any:
    for key, value in over.items():
        if value is None:
            under.pop(key, None)
        elif isinstance(value, dict) and isinstance(under.get(key), dict):
            _laid(under[key], value)
        else:
            under[key] = value
    return under


@functools.cache
def definitions() -> list[Mapping[str, Any]]:
    """The operators' CustomResourceDefinitions, which are kept beside the checkout."""
    folder = next((parent / CRDS for parent in Path(__file__).parents if (parent / CRDS).is_dir()), None)
    if folder is None:
        pytest.skip(f"{CRDS} is not beside this checkout")
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.yaml"))]
    loaded = [document for text in texts for document in yaml.load_all(text, yaml.CSafeLoader)]
    return [document for document in loaded if document["kind"] == "CustomResourceDefinition"]


@functools.cache
def schemas() -> Mapping[str, Any]:
    """JSON schemas of the stored versions, by kind: no unknown field is valid."""
    return {
        definition["spec"]["names"]["kind"]: _closed(version["schema"]["openAPIV3Schema"])
        for definition in definitions()
        for version in definition["spec"]["versions"]
        if version["storage"]
    }


def _closed(schema: Any, *, root: bool = True) -> Any:
    if not isinstance(schema, dict):
        return schema
    closed = {key: value for key, value in schema.items() if key != "format"}
    if schema.get("x-kubernetes-int-or-string"):
        closed = {"type": ["integer", "string"]}
    if "properties" in schema:
        closed["properties"] = {key: _closed(value, root=False) for key, value in schema["properties"].items()}
        if root:
            closed["properties"] |= {"apiVersion": {}, "kind": {}, "metadata": {}}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            closed["additionalProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            closed[key] = _closed(schema[key], root=False)
    return closed
