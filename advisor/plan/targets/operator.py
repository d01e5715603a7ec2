"""Operators of Kubernetes: a place in an object holds the server's lines, another its memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from advisor.contract.plan import Applied, RollOut, TargetName
from advisor.contract.recommendation import Change
from advisor.plan.targets.manifest import (
    Every,
    Manifest,
    ObjectPatch,
    Pattern,
    Place,
    at,
    json_patch,
    lay,
    nested,
    read,
    ways,
    yaml_text,
)
from advisor.plan.targets.target import NOTHING_TO_PATCH, Patches, PlanRefused, Reach, taken_back
from exporter.server import Server

NAME = "NAME"
"""Stands for the name of an object that was not given."""
_MI = 1 << 20
_FILE, _MEMORY = "settings.yaml", "memory.yaml"


LineForm = Callable[[Any, tuple[Change, ...], Server], Mapping[Place, Any]]
"""How a place holds settings: what has to be put where, below the place, into what is present there; None: nothing.

It raises PlanRefused if what is there cannot hold settings.
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

    def part(self, edits: Mapping[Place, Any], what: str) -> str:
        """What belongs into an object that was not given, or of which it is not known where."""
        content: dict[str, Any] = {}
        for way, value in edits.items():
            lay(content, nested((*self.patterns[0], *way), value))
        return f"# Into {self.kind}: {what}.\n{yaml_text(content)}"

    def parts(self, file: str, part: str, undo: str) -> Patches:
        """Such parts as patches."""
        return Patches.of(file, f"part of {self.kind}", (part, undo), whole=False)

    def patches(self, owner: Manifest, file: str, forward: tuple[Manifest, ...], back: tuple[Manifest, ...]) -> Patches:
        """Operations on an object that was given."""
        texts = yaml_text([*forward]), yaml_text([*back])
        return Patches.of(file, "JSON patch", texts, command=self.command(owner, "json"))

    def command(self, manifest: Manifest | None, form: str) -> str:
        """The command that patches the object from the file at its end. ``form`` is kubectl's word for the patch."""
        about = at(manifest, ("metadata",)) or {}
        group, slash, _ = str(at(manifest, ("apiVersion",)) or "").rpartition("/")
        resource = ".".join(filter(None, (self.kind.lower(), group if slash else self.group)))
        namespace = f" --namespace={about['namespace']}" if about.get("namespace") else ""
        return f"kubectl patch {resource} {about.get('name', NAME)}{namespace} --type={form} --patch-file="


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator whose objects hold lines and memory.

    Attributes:
        name: Of the target.
        reach: The servers that it can have.
        homes: Where lines are; the first one where there is no line yet.
        form: How they are held there.
        resources: Where the container's memory is; None where it has no place of its own.
        conduct: What it does with a line, where one answer holds for all lines.
        tuning: Its own tuning, by the setting whose line takes its place.
        elsewhere: Where the first home's object names another place for its lines, which then has to be given too.
    """

    name: TargetName
    reach: Reach
    homes: tuple[Home, ...]
    form: LineForm
    resources: Home | None
    conduct: RollOut
    tuning: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Place | None = None
    memory_applied: Applied = Applied.RESTART

    def settings(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> Patches:
        """The lines, and their way back. Raises PlanRefused."""
        home, owner = self.home(manifest)
        places = [] if owner is None else home.places(owner)
        if owner is None or not places:
            back = self.form(None, tuple(map(taken_back, changes)), server)
            forward = self.form(None, changes, server)
            return home.parts(_FILE, home.part(forward, "beside what is there"), home.part(back, "to take it back"))
        edits = {
            (*place, *way): value
            for place in places
            for way, value in self.form(at(owner, place), changes, server).items()
        }
        patch = json_patch(owner, edits)
        if not patch.forward:
            raise PlanRefused(NOTHING_TO_PATCH)
        return home.patches(owner, _FILE, patch.forward, self.way_back(owner, places[0], patch, changes, server))

    def memory(self, before: int, after: int, manifest: str | None) -> Patches | None:
        """The memory of the server's container. Raises PlanRefused."""
        home = self.resources
        if home is None:
            return None
        owner = None if manifest is None else self._read(manifest).get(home.kind)
        places = [] if owner is None else home.places(owner)
        if owner is None or not places:
            return _memory_alone(home, before, after)
        edits = {(*place, kind, "memory"): quantity(after) for place in places for kind in ("requests", "limits")}
        patch = json_patch(owner, edits)
        return home.patches(owner, _MEMORY, patch.forward, patch.back)

    def roll_out(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> RollOut:  # noqa: ARG002 - the same for all objects
        """What it does with the lines."""
        return self.conduct.model_copy(update={"overrides": overridden(self.tuning, changes)})

    def way_back(
        self,
        owner: Manifest,  # noqa: ARG002 - PerconaServer's needs all
        place: Place,  # noqa: ARG002
        patch: ObjectPatch,
        changes: tuple[Change, ...],  # noqa: ARG002
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


def _memory_alone(home: Home, before: int, after: int) -> Patches:
    """A merge patch, where no list is in its way; otherwise what belongs into the object."""
    forward = {kind: {"memory": quantity(after)} for kind in ("requests", "limits")}
    back = {"requests": {"memory": None}, "limits": {"memory": quantity(before)}}
    [way, *more] = home.patterns
    if more or not all(isinstance(key, str) for key in way):
        what = "for the server's container"
        return home.parts(_MEMORY, home.part({(): forward}, what), home.part({(): back}, f"{what}, to take it back"))
    texts = yaml_text(nested(way, forward)), yaml_text(nested(way, back))
    return Patches.of(_MEMORY, "merge patch", texts, command=home.command(None, "merge"))


def overridden(tuning: Mapping[str, str], changes: tuple[Change, ...]) -> str | None:
    """The tuning that lines take the place of, by their settings; None where there is none."""
    changed = {change.setting for change in changes}
    return " ".join(text for setting, text in tuning.items() if setting in changed) or None


def quantity(size: int) -> str:
    """Bytes as a quantity of Kubernetes."""
    return f"{size // _MI}Mi" if size % _MI == 0 else str(size)
