"""Bitnami's charts of MySQL and MariaDB: values over values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from advisor.contract.plan import Applied, RollOut, TargetName
from advisor.contract.recommendation import Change
from advisor.plan.targets.manifest import Place, at, nested, overlay, yaml_text
from advisor.plan.targets.operator import quantity
from advisor.plan.targets.option_block import OptionBlock
from advisor.plan.targets.target import NOTHING_TO_PATCH, Patches, PlanRefused, Reach, taken_back, written
from exporter.server import Server

CONFIGURATION: Place = ("primary", "configuration")
FLAGS: Place = ("primary", "extraFlags")
_OWN_FILE: Place = ("primary", "existingConfigmap")
_RESOURCES: Place = ("primary", "resources")
_BLOCK = OptionBlock()
_FORM = "Helm values"
_BESIDE = "# Beside the flags that primary.extraFlags has, or as lines of primary.configuration where that is set.\n"
_IGNORED = (
    "The ConfigMap {} (primary.existingConfigmap) is the server's my.cnf: the chart neither writes it nor restarts for "
    "it. The flag wins over it."
)
_ROLL_OUT = RollOut(
    applied=Applied.RESTART,
    how="The chart restarts the primary's pod: the text of primary.configuration is in the annotation "
    "checksum/configuration, and primary.extraFlags in the container's environment. A secondary has its own "
    "secondary.configuration and secondary.extraFlags.",
    source="charts bitnami/mysql and bitnami/mariadb, templates/primary",
    sure=True,
)


class Bitnami:
    """The charts bitnami/mysql and bitnami/mariadb. The manifest is the file of values."""

    name: TargetName = "bitnami"
    reach = Reach()
    memory_applied = Applied.RESTART

    def settings(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> Patches:
        """Lines of the chart's my.cnf where the values have it, otherwise flags, which win. Raises PlanRefused."""
        if manifest is None:
            texts = _flags_alone(changes), _flags_alone(map(taken_back, changes))
            return Patches.of("settings.yaml", _FORM, texts, whole=False)
        values = _values(manifest)
        block, flags = at(values, CONFIGURATION), str(at(values, FLAGS) or "")
        in_block = bool(block) and not at(values, _OWN_FILE)
        as_flags = tuple(change for change in changes if not in_block or _position(flags.split(), change) is not None)
        as_lines = tuple(change for change in changes if change not in as_flags)
        edits: dict[Place, Any] = {CONFIGURATION: _BLOCK.changed(str(block), as_lines, server)} if as_lines else {}
        if as_flags:
            edits[FLAGS] = _with_flags(flags, as_flags)
        if all(at(values, place) == value for place, value in edits.items()):
            raise PlanRefused(NOTHING_TO_PATCH)
        return _patches(values, edits, "settings")

    def memory(self, before: int, after: int, manifest: str | None) -> Patches | None:  # noqa: ARG002 - null takes it back
        """The primary's requests and limits. Raises PlanRefused."""
        values = _values(manifest or "{}")
        sizes = {(*_RESOURCES, kind, "memory"): quantity(after) for kind in ("requests", "limits")}
        patches = _patches(values, sizes, "memory")
        if at(values, _RESOURCES):
            return patches
        # The chart takes these resources instead of its preset, which has CPU too.
        text = f"# Instead of primary.resourcesPreset: add the cpu that it has.\n{patches.patch.text}"
        return replace(patches, patch=patches.patch.model_copy(update={"text": text, "whole": False}))

    def roll_out(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> RollOut:  # noqa: ARG002 - the same for all
        """A restart of the primary. Raises PlanRefused."""
        given = at(_values(manifest or "{}"), _OWN_FILE)
        return _ROLL_OUT.model_copy(update={"how": f"{_ROLL_OUT.how} {_IGNORED.format(given)}"}) if given else _ROLL_OUT


def _values(text: str) -> Mapping[str, Any]:
    try:
        values = YAML(typ="safe").load(text) or {}
    except YAMLError as error:
        raise PlanRefused(f"The values are no YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(values, dict) or "kind" in values:
        raise PlanRefused("--for bitnami takes the chart's values (helm get values RELEASE) as its manifest.")
    return values


def _patches(values: Mapping[str, Any], edits: Mapping[Place, Any], what: str) -> Patches:
    forward, back = overlay(values, edits, len(FLAGS))
    command = "helm upgrade RELEASE CHART --version=VERSION --values=values.yaml --values="
    return Patches.of(f"{what}.yaml", _FORM, (yaml_text(forward), yaml_text(back)), command=command)


def _flags_alone(changes: Iterable[Change]) -> str:
    return _BESIDE + yaml_text(nested(FLAGS, _with_flags("", changes)))


def _with_flags(flags: str, changes: Iterable[Change]) -> str:
    """Flags of the server's command line, with the settings: of equal flags the last one counts."""
    words = flags.split()
    for change in changes:
        flag = f"--{change.setting}={written(change.to)}"
        position = _position(words, change)
        if position is None:
            words.append(flag)
        else:
            words[position] = flag
    return " ".join(words)


def _position(words: list[str], change: Change) -> int | None:
    names = [word.partition("=")[0].lstrip("-").replace("-", "_").removeprefix("loose_") for word in words]
    return max((position for position, name in enumerate(names) if name == change.setting), default=None)
