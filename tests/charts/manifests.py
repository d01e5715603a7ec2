"""helm's output, parsed and checked as a cluster would."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml  # type: ignore[import-untyped]
from kubernetes_validate import utils
from kubernetes_validate.utils import ValidationError
from ruamel.yaml import YAML

from tests.charts.crds import SCHEMAS
from tests.unavailable import if_available
from tools import chart
from tools.command import BuildFailed

Manifest = Mapping[str, Any]
DSN = "mysql://advisor@db.shop:3306"
KINDS = ("Deployment", "StatefulSet")
utils.schema_contents = functools.cache(utils.schema_contents)  # it reads megabytes for each manifest


def written(values: Mapping[str, Any], **where: str) -> str:
    """The manifests of a release as text."""
    return _written(json.dumps(values), **where)


@functools.cache
def _written(values: str, **where: str) -> str:
    return if_available(chart.template, json.loads(values), **where)


@functools.cache
def documents() -> Mapping[Path, str]:
    """The files that tools.chart generates, with their expected content."""
    return if_available(chart.documents)


def rendered(values: Mapping[str, Any], **where: str) -> list[Manifest]:
    """The manifests of a release."""
    return read(written(values, **where))


def refused(values: Mapping[str, Any], **where: str) -> str:
    """helm's error message for these values."""
    try:
        written(values, **where)
    except BuildFailed as error:
        return str(error)
    raise AssertionError(f"{values} was taken")


def read(text: str) -> list[Manifest]:
    """Parse manifests, which must mean the same in YAML 1.1, for Kubernetes, and in 1.2, for others.

    In 1.1 a plain y is true, in 1.2 a plain 1e3 is a number; sigs.k8s.io/yaml accepts both this way.
    """
    return copy.deepcopy(_read(text))


@functools.cache
def _read(text: str) -> list[Manifest]:
    events = yaml.parse(text, yaml.CSafeLoader)
    plain = {event.value for event in events if isinstance(event, yaml.ScalarEvent) and event.implicit[0]}
    assert [scalar for scalar in plain if _meaning(scalar, "1.1") != _meaning(scalar, "1.2")] == []
    return [manifest for manifest in yaml.load_all(text, yaml.CSafeLoader) if manifest]


@functools.cache
def _meaning(scalar: str, version: str) -> object:
    reader = YAML(typ="safe", pure=True)
    reader.version = version
    return reader.load(f"- {scalar}")


def of_kind(manifests: list[Manifest], kind: str) -> Manifest:
    """The only manifest of a kind."""
    [manifest] = [manifest for manifest in manifests if manifest["kind"] == kind]
    return manifest


def container(manifests: list[Manifest]) -> Mapping[str, Any]:
    """The Deployment's container."""
    [container] = of_kind(manifests, "Deployment")["spec"]["template"]["spec"]["containers"]
    return dict(container)


def pods(manifests: list[Manifest]) -> Iterator[Mapping[str, Any]]:
    """The specification of every pod in the manifests."""
    for manifest in manifests:
        if manifest["kind"] == "Pod":
            yield manifest["spec"]
        elif manifest["kind"] in KINDS:
            yield manifest["spec"]["template"]["spec"]
        elif manifest["kind"] == "CronJob":
            yield manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def problems(manifest: Manifest, kubernetes: str) -> str:
    """Why a cluster of this version would reject a manifest; empty if it would not."""
    return _problems(json.dumps(manifest, sort_keys=True), kubernetes)


@functools.cache
def _problems(manifest: str, kubernetes: str) -> str:
    content = json.loads(manifest)
    if content["kind"] in SCHEMAS:
        errors = jsonschema_rs.validator_for(SCHEMAS[content["kind"]]).iter_errors(content)
        return "; ".join(f"{list(error.instance_path)}: {error.message}" for error in errors)
    try:
        utils.validate(content, kubernetes, strict=True)
    except ValidationError as error:
        return f"{list(error.path)}: {error.message}"
    return ""
