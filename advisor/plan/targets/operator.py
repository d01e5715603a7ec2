"""Operators of Kubernetes: a place in an object holds the server's lines, another its memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from advisor.contract.plan import Applied, Patch, RollOut, TargetName
from advisor.plan.targets.manifest import (
    Every,
    Manifest,
    ObjectPatch,
    Pattern,
    Place,
    at,
    json_patch,
    nested,
    read,
    ways,
    yaml_text,
)
from advisor.plan.targets.target import MemorySize, NothingToPatch, Patches, PlanRefused, Reach, SettingLine
from exporter.server import Server

NAME = "NAME"
"""Stands for the name of an object that was not given."""
_MI = 1 << 20
_FILE, _MEMORY = "settings.yaml", "memory.yaml"


class LineForm(Protocol):
    """How a place holds settings."""

    def fragment(self, lines: tuple[SettingLine, ...]) -> Any:
        """The settings alone."""

    def edits(self, present: Any, lines: tuple[SettingLine, ...], server: Server) -> Mapping[Place, Any]:
        """What has to be put where, below the place, into what is present there; None: nothing.

        Raises:
            PlanRefused: What is there cannot hold settings.
        """


@dataclass(frozen=True, slots=True)
class Home:
    """Places of one purpose in an object of Kubernetes.

    Attributes:
        kind: The object's kind.
        group: Its API group; empty for Kubernetes' own.
        patterns: The ways from the object's root.
    """

    kind: str
    group: str
    patterns: tuple[Pattern, ...]

    def places(self, owner: Manifest) -> list[Place]:
        """The places in an object: all that belong to one server. None where they may belong to several.

        Where a pattern has lists, only elements count that have the place's parent: a pool of tablets without a server
        has none.
        """
        places: list[Place] = []
        for pattern in self.patterns:
            lists = [depth for depth, key in enumerate(pattern) if isinstance(key, Every)]
            outermost = at(owner, ways(owner, pattern[: lists[0]])[0]) if lists else ()
            if len(outermost or ()) > 1:
                return []
            places += [place for place in ways(owner, pattern) if not lists or at(owner, place[:-1]) is not None]
        return places

    def fragment(self, value: Any, what: str, file: str) -> Patch:
        """What belongs into an object that was not given, or of which it is not known where."""
        text = f"# Into {self.kind}: {what}.\n{yaml_text(nested(self.patterns[0], value))}"
        return Patch(file=file, form=f"part of {self.kind}", text=text, whole=False)

    def patch(self, owner: Manifest, operations: tuple[Manifest, ...], file: str) -> Patch:
        """Operations on an object that was given."""
        command = self.command(owner, file, "json")
        return Patch(file=file, form="JSON patch", text=yaml_text(list(operations)), command=command)

    def command(self, manifest: Manifest | None, file: str, form: str) -> str:
        """The command that patches the object from a file. ``form`` is kubectl's word for the patch."""
        about = at(manifest, ("metadata",)) or {}
        group, slash, _ = str(at(manifest, ("apiVersion",)) or "").rpartition("/")
        resource = ".".join(filter(None, (self.kind.lower(), group if slash else self.group)))
        namespace = f" --namespace={about['namespace']}" if about.get("namespace") else ""
        return f"kubectl patch {resource} {about.get('name', NAME)}{namespace} --type={form} --patch-file={file}"


@dataclass(frozen=True, slots=True)
class Conduct:
    """What an owner does with a changed line, where one answer holds for all lines.

    Attributes:
        applied: How it brings the line to the server.
        how: In words.
        source: Where this is known from.
        sure: Whether it was neither inferred nor read of an old version.
        overrides: Its own tuning, by the setting whose line takes its place.
    """

    applied: Applied
    how: str
    source: str
    sure: bool = True
    overrides: Mapping[str, str] = field(default_factory=dict)

    def roll_out(self, lines: tuple[SettingLine, ...]) -> RollOut:
        """The same for some lines."""
        changed = {line.setting for line in lines}
        overridden = " ".join(text for setting, text in self.overrides.items() if setting in changed)
        return RollOut(
            applied=self.applied, how=self.how, source=self.source, sure=self.sure, overrides=overridden or None
        )


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator whose objects hold lines and memory.

    Attributes:
        name: Of the target.
        reach: The servers that it can have.
        homes: Where lines are; the first one where there is no line yet.
        form: How they are held there.
        resources: Where the container's memory is; None where it has no place of its own.
        conduct: What it does with a line.
        elsewhere: Where the first home's object names another place for its lines, which then has to be given too.
    """

    name: TargetName
    reach: Reach
    homes: tuple[Home, ...]
    form: LineForm
    resources: Home | None
    conduct: Conduct
    elsewhere: Place | None = None
    memory_applied: Applied = Applied.RESTART

    def settings(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> Patches:
        """The lines, and their way back. Raises PlanRefused."""
        self.reach.refuse(self.name, server)
        home, owner = self.home(manifest)
        places = [] if owner is None else home.places(owner)
        if owner is None or not places:
            before = self.form.fragment(tuple(line.back for line in lines))
            return Patches(
                home.fragment(self.form.fragment(lines), "beside what is there", _FILE),
                home.fragment(before, "to take it back", f"undo-{_FILE}"),
            )
        edits = {
            (*place, *way): value
            for place in places
            for way, value in self.form.edits(at(owner, place), lines, server).items()
        }
        patch = json_patch(owner, edits)
        if not patch.forward:
            raise NothingToPatch
        back = self.way_back(owner, places[0], patch, lines, server)
        return Patches(home.patch(owner, patch.forward, _FILE), home.patch(owner, back, f"undo-{_FILE}"))

    def memory(self, before: MemorySize, after: MemorySize, manifest: str | None) -> Patches | None:
        """The memory of the server's container. Raises PlanRefused."""
        home = self.resources
        if home is None:
            return None
        owner = None if manifest is None else self._read(manifest).get(home.kind)
        places = [] if owner is None else home.places(owner)
        sizes = {kind: quantity(size) for kind, size in sizes_of(after).items()}
        if owner is None or not places:
            return _memory_alone(home, sizes, before)
        edits = {(*place, kind, "memory"): size for place in places for kind, size in sizes.items()}
        patch = json_patch(owner, edits)
        return Patches(home.patch(owner, patch.forward, _MEMORY), home.patch(owner, patch.back, f"undo-{_MEMORY}"))

    def roll_out(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> RollOut:
        """What it does with the lines. Raises PlanRefused."""
        self.reach.refuse(self.name, server)
        self.home(manifest)
        return self.conduct.roll_out(lines)

    def way_back(
        self,
        owner: Manifest,  # noqa: ARG002 - PerconaServer's needs all
        place: Place,  # noqa: ARG002
        patch: ObjectPatch,
        lines: tuple[SettingLine, ...],  # noqa: ARG002
        server: Server,  # noqa: ARG002
    ) -> tuple[Manifest, ...]:
        """The operations that take the lines back. ``place`` is the first one that has them."""
        return patch.back

    def home(self, manifest: str | None) -> tuple[Home, Manifest | None]:
        """Where the lines are, and the object of today; None where that was not given.

        Raises:
            PlanRefused: The manifest has no object of the operator.
        """
        if manifest is None:
            return self.homes[0], None
        owners = self._read(manifest)
        given = [(home, owners[home.kind]) for home in self.homes if home.kind in owners]
        for home, owner in given:
            if any(at(owner, place) is not None for place in home.places(owner)):
                return home, owner
        first = owners.get(self.homes[0].kind)
        if first is not None and self.elsewhere is not None and at(first, self.elsewhere) is not None:
            where = ".".join(map(str, self.elsewhere))
            raise PlanRefused(f"The {self.homes[0].kind} takes its lines from {where}: give that object as well.")
        return given[0] if given else (self.homes[0], None)

    def _read(self, manifest: str) -> Mapping[str, Manifest]:
        homes = (*self.homes, self.resources)
        return read(manifest, dict.fromkeys(home.kind for home in homes if home is not None))


def _memory_alone(home: Home, sizes: Mapping[str, str], before: MemorySize) -> Patches:
    """A merge patch, where no list is in its way; otherwise what belongs into the object."""
    old = {kind: quantity(size) for kind, size in sizes_of(before).items()}
    forward = {kind: {"memory": size} for kind, size in sizes.items()}
    back = {kind: {"memory": old.get(kind)} for kind in sizes}
    [way, *more] = home.patterns
    if more or not all(isinstance(key, str) for key in way):
        return Patches(
            home.fragment(forward, "for the server's container", _MEMORY),
            home.fragment(back, "for the server's container, to take it back", f"undo-{_MEMORY}"),
        )
    patch, undo = (
        Patch(
            file=file,
            form="merge patch",
            text=yaml_text(nested(way, resources)),
            command=home.command(None, file, "merge"),
        )
        for file, resources in ((_MEMORY, forward), (f"undo-{_MEMORY}", back))
    )
    return Patches(patch, undo)


def quantity(size: int) -> str:
    """Bytes as a quantity of Kubernetes."""
    return f"{size // _MI}Mi" if size % _MI == 0 else str(size)


def sizes_of(size: MemorySize) -> dict[str, int]:
    """The sizes that are said, by Kubernetes' names."""
    present = {"requests": size.request, "limits": size.limit}
    return {kind: value for kind, value in present.items() if value is not None}
