"""helm's output, parsed and checked as a cluster would."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jsonschema_rs
from kubernetes_validate.utils import ValidationError, validate
from ruamel.yaml import YAML

from lab.packages.cache import Unavailable
from tests.charts.crds import SCHEMAS
from tests.unavailable import give_up
from tools import chart
from tools.helm import HelmFailed

T = TypeVar("T")
Manifest = Mapping[str, Any]
DSN = "mysql://advisor@db.shop:3306"
KINDS = ("Deployment", "StatefulSet")


def had(make: Callable[[], T]) -> T:
    """helm's output, if helm is available."""
    try:
        return make()
    except Unavailable as error:
        give_up(f"helm is unavailable here: {error}")


def written(values: Mapping[str, Any], *more: str, **where: str) -> str:
    """The manifests of a release as text."""
    return had(lambda: chart.template(values, *more, **where))


@functools.cache
def documents() -> Mapping[Path, str]:
    """The files that tools.chart generates, with their expected content."""
    return had(chart.documents)


def rendered(values: Mapping[str, Any], **where: str) -> list[Manifest]:
    """The manifests of a release."""
    return read(written(values, **where))


def refused(values: Mapping[str, Any], **where: str) -> str:
    """helm's error message for these values."""
    try:
        written(values, **where)
    except HelmFailed as error:
        return str(error)
    raise AssertionError(f"{values} was taken")


def read(text: str) -> list[Manifest]:
    """Parse manifests, which must mean the same in YAML 1.1, for Kubernetes, and in 1.2, for others.

    In 1.1 a plain y is true, in 1.2 a plain 1e3 is a number; sigs.k8s.io/yaml accepts both this way.
    """
    readings = []
    for version in ("1.1", "1.2"):
        yaml = YAML(typ="safe", pure=True)
        yaml.version = version
        readings.append([each for each in yaml.load_all(text) if each])
    old, new = readings
    assert old == new
    return list(old)


def of_kind(manifests: list[Manifest], kind: str) -> Manifest:
    """The only manifest of a kind."""
    [found] = [each for each in manifests if each["kind"] == kind]
    return found


def container(manifests: list[Manifest]) -> Mapping[str, Any]:
    """The Deployment's container."""
    [found] = of_kind(manifests, "Deployment")["spec"]["template"]["spec"]["containers"]
    return dict(found)


def pods(manifests: list[Manifest]) -> Iterator[Mapping[str, Any]]:
    """The specification of every pod in the manifests."""
    for each in manifests:
        if each["kind"] == "Pod":
            yield each["spec"]
        elif each["kind"] in KINDS:
            yield each["spec"]["template"]["spec"]
        elif each["kind"] == "CronJob":
            yield each["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def problems(manifest: Manifest, kubernetes: str) -> str:
    """Why a cluster of this version would reject a manifest; empty if it would not."""
    return _problems(json.dumps(manifest, sort_keys=True), kubernetes)


@functools.cache
def _problems(manifest: str, kubernetes: str) -> str:
    content = json.loads(manifest)
    if content["kind"] in SCHEMAS:
        errors = jsonschema_rs.validator_for(SCHEMAS[content["kind"]]).iter_errors(content)
        return "; ".join(f"{list(each.instance_path)}: {each.message}" for each in errors)
    try:
        validate(content, kubernetes, strict=True)
    except ValidationError as error:
        return f"{list(error.path)}: {error.message}"
    return ""
