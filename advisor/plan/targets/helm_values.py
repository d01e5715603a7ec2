"""Bitnami's charts of MySQL and MariaDB: values over values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from advisor.contract.plan import Applied, Patch, RollOut, TargetName
from advisor.plan.targets.manifest import Place, at, nested, overlay, yaml_text
from advisor.plan.targets.operator import Conduct, quantity, sizes_of
from advisor.plan.targets.option_block import OptionBlock, written
from advisor.plan.targets.target import MemorySize, NothingToPatch, Patches, PlanRefused, Reach, SettingLine
from exporter.server import Server

CONFIGURATION: Place = ("primary", "configuration")
FLAGS: Place = ("primary", "extraFlags")
_OWN_FILE: Place = ("primary", "existingConfigmap")
_RESOURCES: Place = ("primary", "resources")
_BLOCK = OptionBlock()
_BESIDE = "# Beside the flags that primary.extraFlags has, or as lines of primary.configuration where that is set.\n"
_IGNORED = (
    "The ConfigMap {} (primary.existingConfigmap) is the server's my.cnf: the chart neither writes it nor restarts for "
    "it. The flag wins over it."
)
_CONDUCT = Conduct(
    Applied.RESTART,
    "The chart restarts the primary's pod: the text of primary.configuration is in the annotation "
    "checksum/configuration, and primary.extraFlags in the container's environment. A secondary has its own "
    "secondary.configuration and secondary.extraFlags.",
    "charts bitnami/mysql and bitnami/mariadb, templates/primary",
)


@dataclass(frozen=True, slots=True)
class Bitnami:
    """The charts bitnami/mysql and bitnami/mariadb. The manifest is the file of values."""

    name: TargetName = "bitnami"
    memory_applied: Applied = Applied.RESTART

    def settings(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> Patches:
        """Lines of the chart's my.cnf where the values have it, otherwise flags, which win. Raises PlanRefused."""
        Reach().refuse(self.name, server)
        if manifest is None:
            return _fragments(lines)
        values = _values(manifest)
        block, flags = at(values, CONFIGURATION), str(at(values, FLAGS) or "")
        in_block = bool(block) and not at(values, _OWN_FILE)
        as_flags = tuple(line for line in lines if not in_block or _position(flags.split(), line) is not None)
        as_lines = tuple(line for line in lines if line not in as_flags)
        edits: dict[Place, Any] = {CONFIGURATION: _BLOCK.changed(str(block), as_lines, server)} if as_lines else {}
        if as_flags:
            edits[FLAGS] = _with_flags(flags, as_flags)
        if all(at(values, place) == value for place, value in edits.items()):
            raise NothingToPatch
        return _patches(values, edits, "settings")

    def memory(self, before: MemorySize, after: MemorySize, manifest: str | None) -> Patches | None:  # noqa: ARG002 - null takes it back
        """The primary's requests and limits. Raises PlanRefused."""
        values = _values(manifest or "{}")
        sizes = {(*_RESOURCES, kind, "memory"): quantity(size) for kind, size in sizes_of(after).items()}
        patches = _patches(values, sizes, "memory")
        if at(values, _RESOURCES):
            return patches
        # The chart takes these resources instead of its preset, which has CPU too.
        text = f"# Instead of primary.resourcesPreset: add the cpu that it has.\n{patches.patch.text}"
        return replace(patches, patch=patches.patch.model_copy(update={"text": text, "whole": False}))

    def roll_out(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> RollOut:
        """A restart of the primary. Raises PlanRefused."""
        Reach().refuse(self.name, server)
        given = at(_values(manifest or "{}"), _OWN_FILE)
        conduct = _CONDUCT
        if given:
            conduct = replace(conduct, how=f"{conduct.how} {_IGNORED.format(given)}")
        return conduct.roll_out(lines)


def _values(text: str) -> Mapping[str, Any]:
    try:
        values = YAML(typ="safe").load(text) or {}
    except YAMLError as error:
        raise PlanRefused(f"The values are no YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(values, dict) or "kind" in values:
        raise PlanRefused("--for bitnami takes the chart's values (helm get values RELEASE) as its manifest.")
    return values


def _patches(values: Mapping[str, Any], edits: Mapping[Place, Any], what: str) -> Patches:
    texts = (yaml_text(layer) for layer in overlay(values, edits, len(FLAGS)))
    forward, undo = (
        Patch(
            file=file,
            form="Helm values",
            text=text,
            command=f"helm upgrade RELEASE CHART --version=VERSION --values=values.yaml --values={file}",
        )
        for file, text in zip((f"{what}.yaml", f"undo-{what}.yaml"), texts, strict=True)
    )
    return Patches(forward, undo)


def _fragments(lines: tuple[SettingLine, ...]) -> Patches:
    back = tuple(line.back for line in lines)
    forward, undo = (
        Patch(
            file=file,
            form="Helm values",
            text=_BESIDE + yaml_text(nested(FLAGS, _with_flags("", some))),
            whole=False,
        )
        for file, some in (("settings.yaml", lines), ("undo-settings.yaml", back))
    )
    return Patches(forward, undo)


def _with_flags(flags: str, lines: tuple[SettingLine, ...]) -> str:
    """Flags of the server's command line, with the settings: of equal flags the last one counts."""
    words = flags.split()
    for line in lines:
        flag = f"--{line.setting}={written(line.after)}"
        position = _position(words, line)
        if position is None:
            words.append(flag)
        else:
            words[position] = flag
    return " ".join(words)


def _position(words: list[str], line: SettingLine) -> int | None:
    names = [word.partition("=")[0].lstrip("-").replace("-", "_").removeprefix("loose_") for word in words]
    return max((position for position, name in enumerate(names) if name == line.setting), default=None)
