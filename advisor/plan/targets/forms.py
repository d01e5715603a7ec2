"""Other forms than an option file, in which objects of Kubernetes hold settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advisor.contract.recommendation import Change
from advisor.plan.targets.manifest import Place
from advisor.plan.targets.target import PlanRefused, written
from exporter.server import Server

IMMEDIATE, PENDING = "immediate", "pending-reboot"
_SWITCHED = {"ON": "1", "OFF": "0"}


def parameter(change: Change) -> dict[str, str]:
    """A parameter of Amazon's groups: switches are 0 and 1 there, and all values are texts."""
    value = written(change.to)
    return {
        "name": change.setting,
        "value": _SWITCHED.get(value, value),
        "applyMethod": IMMEDIATE if change.dynamic else PENDING,
    }


def variable_map(present: Any, changes: tuple[Change, ...], server: Server) -> Mapping[Place, Any]:  # noqa: ARG001 - the same for all servers
    """A map from variables to texts, as a ConfigMap of MOCO: each variable under the name that it has, or its own.

    A name may have dashes and the prefix ``loose_``.

    Raises:
        PlanRefused: It is no map.
    """
    if not isinstance(present or {}, Mapping):
        raise PlanRefused("The manifest has no map of variables where they belong.")
    edits: dict[Place, Any] = {}
    for change in changes:
        keys = [key for key in present or {} if key.replace("-", "_").removeprefix("loose_") == change.setting]
        edits |= {(key,): written(change.to) for key in keys or [change.setting]}
    return edits


def parameter_list(present: Any, changes: tuple[Change, ...], server: Server) -> Mapping[Place, Any]:  # noqa: ARG001 - the same for all servers
    """A list of parameters with name, value and applyMethod: each in the place of that with its name, or at the end.

    Raises:
        PlanRefused: It is no list of parameters.
    """
    if not isinstance(present or [], list) or not all(isinstance(item, Mapping) for item in present or []):
        raise PlanRefused("The manifest has no list of parameters where they belong.")
    names = [item.get("name") for item in present or []]
    if not names:
        return {(): [parameter(change) for change in changes]}
    edits: dict[Place, Any] = {}
    for change in changes:
        if change.setting not in names:
            names.append(change.setting)
        edits[(names.index(change.setting),)] = parameter(change)
    return edits
