"""Other forms than an option file, in which objects of Kubernetes hold settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advisor.plan.targets.manifest import Place
from advisor.plan.targets.option_block import written
from advisor.plan.targets.target import PlanRefused, SettingLine
from exporter.server import Server

IMMEDIATE, PENDING = "immediate", "pending-reboot"
_SWITCHED = {"ON": "1", "OFF": "0"}


def parameter(line: SettingLine) -> dict[str, str]:
    """A parameter of Amazon's groups: switches are 0 and 1 there, and all values are texts."""
    value = written(line.after)
    return {
        "name": line.setting,
        "value": _SWITCHED.get(value, value),
        "applyMethod": IMMEDIATE if line.dynamic else PENDING,
    }


@dataclass(frozen=True, slots=True)
class VariableMap:
    """A map from variables to texts, as a ConfigMap of MOCO: a name may have dashes and the prefix ``loose_``."""

    def fragment(self, lines: tuple[SettingLine, ...]) -> Mapping[str, str]:
        """The variables alone."""
        return {line.setting: written(line.after) for line in lines}

    def edits(self, present: Any, lines: tuple[SettingLine, ...], server: Server) -> Mapping[Place, Any]:  # noqa: ARG002 - the same for all servers
        """Each variable under the name that it has, or its own.

        Raises:
            PlanRefused: It is no map.
        """
        if not isinstance(present or {}, Mapping):
            raise PlanRefused("The manifest has no map of variables where they belong.")
        edits: dict[Place, Any] = {}
        for line in lines:
            keys = [key for key in present or {} if key.replace("-", "_").removeprefix("loose_") == line.setting]
            edits |= {(key,): written(line.after) for key in keys or [line.setting]}
        return edits


@dataclass(frozen=True, slots=True)
class ParameterList:
    """A list of parameters with name, value and applyMethod."""

    def fragment(self, lines: tuple[SettingLine, ...]) -> list[dict[str, str]]:
        """The parameters alone."""
        return [parameter(line) for line in lines]

    def edits(self, present: Any, lines: tuple[SettingLine, ...], server: Server) -> Mapping[Place, Any]:  # noqa: ARG002 - the same for all servers
        """Each parameter in the place of that with its name, or at the end.

        Raises:
            PlanRefused: It is no list of parameters.
        """
        if not isinstance(present or [], list) or not all(isinstance(item, Mapping) for item in present or []):
            raise PlanRefused("The manifest has no list of parameters where they belong.")
        names = [item.get("name") for item in present or []]
        if not names:
            return {(): self.fragment(lines)}
        edits: dict[Place, Any] = {}
        for line in lines:
            if line.setting not in names:
                names.append(line.setting)
            edits[(names.index(line.setting),)] = parameter(line)
        return edits
