"""The shape of a rule file, before its expressions are checked."""

from __future__ import annotations

import difflib
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from advisor.contract.recommendation import Severity
from advisor.files.yaml_file import FileModel
from exporter import knowledge
from exporter.server import Server, Version, parse_version


def _number_as_text(value: object) -> object:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return value
    try:
        return repr(float(value))
    except OverflowError:
        raise ValueError("no number is as large as that") from None


def _checked_version(text: str) -> str:
    parse_version(text)
    return text


def _known_behaviour(name: str) -> str:
    if name not in knowledge.BEHAVIOURS:
        near = difflib.get_close_matches(name, knowledge.BEHAVIOURS, n=1)
        raise ValueError(f"no behaviour {name}" + (f"; did you mean {near[0]}?" if near else ""))
    return name


Text = Annotated[str, Field(min_length=1)]
VersionText = Annotated[Text, AfterValidator(_checked_version)]
Cel = Annotated[Text, BeforeValidator(_number_as_text)]
"""An expression, or a plain number."""


class _Strict(FileModel):
    model_config = ConfigDict(strict=True)


class VersionRange(_Strict):
    """Versions that a rule applies to: ``from`` is included, ``below`` is not."""

    from_: VersionText | None = Field(None, alias="from")
    below: VersionText | None = None

    def __contains__(self, version: Version) -> bool:
        return (self.from_ is None or version >= parse_version(self.from_)) and (
            self.below is None or version < parse_version(self.below)
        )


Platform = Literal["percona", "aurora", "rds", "azure", "cloudsql"]


class Applies(_Strict):
    """Servers that a rule applies to. A family is excluded if only the other one is named.

    Percona Server and Aurora count as MySQL; ``has`` names behaviours of exporter/knowledge.toml, all of which the
    server must have.
    """

    mysql: VersionRange | None = None
    mariadb: VersionRange | None = None
    has: tuple[Annotated[str, AfterValidator(_known_behaviour)], ...] = Field((), strict=False)
    not_on: tuple[Platform, ...] = Field((), strict=False)

    def __contains__(self, server: Server) -> bool:
        if self.mysql or self.mariadb:
            versions = self.mariadb if server.mariadb else self.mysql
            if versions is None or server.version not in versions:
                return False
        return all(map(server.has, self.has)) and not {server.flavour, server.managed} & {*self.not_on}


class EvidenceItem(_Strict):
    """A named value and where it comes from. Its unit and source are templates."""

    name: Text
    value: Cel
    unit: str = ""
    source: Text


class ChangeItem(_Strict):
    """A setting and the expression for its new value; left out unless ``if`` holds."""

    setting: Text
    value: Cel
    only_if: Cel | None = Field(None, alias="if")


class ActionItem(_Strict):
    """An action other than a change of a setting, as templates like the summary; left out unless ``if`` holds."""

    do: Text
    only_if: Cel | None = Field(None, alias="if")
    apply: tuple[Text, ...] = Field((), strict=False)
    rollback: tuple[Text, ...] = Field((), strict=False)


class EffectItem(_Strict):
    """A quantity now and after the change; left out unless ``if`` holds. Its name and unit are templates."""

    quantity: Text
    only_if: Cel | None = Field(None, alias="if")
    now: Cel | None = None
    predicted: Cel
    unit: str = ""
    model: Text | None = None
    error: Cel | None = None
    read_bytes_saved_per_second: Cel | None = None


class Choose(_Strict):
    """A setting whose value a model chooses once ``when`` holds. ``choice`` has the value and its effect.

    The model is that of the LRU list, or the miss curve for the size of the pool. ``at_most`` bounds the value; where
    it is not known, ``choice`` is not known either.
    """

    model: Literal["lru", "curve"]
    setting: Literal["innodb_old_blocks_pct", "innodb_old_blocks_time", "innodb_buffer_pool_size"]
    at_most: Cel | None = None


class Lasting(_Strict):
    """Hysteresis, so that advice does not flap.

    The window is cut into slices. A finding needs ``condition`` in ``share`` of the slices where it is known. The
    finding clears when it holds in less than ``until`` of them.
    """

    condition: Cel
    share: float = Field(0.6, gt=0, le=1)
    until: float = Field(0.3, gt=0, le=1)


class Undecided(_Strict):
    """What the sources leave open although ``when`` holds: the rule is then blind, with this reason and cure."""

    only_if: Cel = Field(alias="if")
    lacks: Text
    reason: Text
    cure: Text | None = None


MOST_LET = 100
"""Names in ``let``: each is checked in an environment of its own, which takes milliseconds."""


class RuleFile(_Strict):
    """A rule file; ``let``, ``when``, ``unless`` and all values are CEL."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
    title: Text
    severity: Severity = Field(strict=False)
    confidence: float = Field(ge=0, le=1)
    applies: Applies
    needs: tuple[Text, ...] = Field(strict=False, min_length=1)
    for_each: Text | None = None
    let: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], Cel] = Field(
        default_factory=dict, max_length=MOST_LET
    )
    when: tuple[Cel, ...] = Field(strict=False, min_length=1)
    choose: Choose | None = None
    lasting: Lasting | None = None
    trend: Cel | None = None
    unless: tuple[Cel, ...] = Field((), strict=False)
    blind: Undecided | None = None
    summary: Text
    evidence: tuple[EvidenceItem, ...] = Field(strict=False, min_length=1)
    change: tuple[ChangeItem, ...] = Field((), strict=False)
    take_back: bool = False
    action: tuple[ActionItem, ...] = Field((), strict=False)
    effect: EffectItem | None = None
    cost: EffectItem | None = None
    budget_seconds: float = Field(1.0, gt=0, le=60)
    why: Text
    proved: tuple[Text, ...] = Field((), strict=False)
    references: tuple[Text, ...] = Field(strict=False, min_length=1)
