"""Rule files: read, checked whole, and refused with file, line and column when anything is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NoReturn

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from advisor import choice, facts, yamlfile
from advisor.expressions import Expression, ExpressionError, Vocabulary
from advisor.places import Key, position
from advisor.recommendation import Severity
from advisor.settings import SETTINGS
from advisor.summary import FORMATS, placeholders
from advisor.yamlfile import FileError, Source
from exporter.collectors import COLLECTORS, LIGHT
from exporter.server import Server, Version, parse_version

SUFFIX = ".yaml"
CASES_SUFFIX = ".cases.yaml"


def _number_as_text(value: object) -> object:
    return repr(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _checked_version(text: str) -> str:
    parse_version(text)
    return text


Text = Annotated[str, Field(min_length=1)]
VersionText = Annotated[Text, AfterValidator(_checked_version)]
Cel = Annotated[Text, BeforeValidator(_number_as_text)]
"""An expression; a bare number in the file is one too."""

_Path = tuple[Key, ...]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class VersionRange(_Part):
    """Versions a rule applies to: ``from`` included, ``below`` not."""

    from_: VersionText | None = Field(None, alias="from")
    below: VersionText | None = None

    def __contains__(self, version: Version) -> bool:
        return (self.from_ is None or version >= parse_version(self.from_)) and (
            self.below is None or version < parse_version(self.below)
        )


class Applies(_Part):
    """Which servers: a family that is not named is left out. Percona Server and Aurora count as MySQL."""

    mysql: VersionRange | None = None
    mariadb: VersionRange | None = None
    not_on: tuple[Literal["percona", "aurora"], ...] = Field((), strict=False)

    def __contains__(self, server: Server) -> bool:
        versions = self.mariadb if server.mariadb else self.mysql
        return versions is not None and server.version in versions and server.flavour not in self.not_on


class EvidenceItem(_Part):
    """A named value and where it comes from."""

    name: Text
    value: Cel
    unit: str = ""
    source: Text


class ChangeItem(_Part):
    """A setting and the expression for its new value."""

    setting: Text
    value: Cel


class EffectItem(_Part):
    """A quantity, what it is now, and what it becomes."""

    quantity: Text
    now: Cel | None = None
    predicted: Cel
    unit: str = ""
    model: Text | None = None
    error: Cel | None = None
    read_bytes_saved_per_second: Cel | None = None


class Choose(_Part):
    """A setting whose value a model chooses, once ``when`` holds: ``choice.value`` and what comes of it."""

    model: Literal["lru"]
    setting: Literal["innodb_old_blocks_pct", "innodb_old_blocks_time"]


class RuleFile(_Part):
    """The file's shape; the texts of ``let``, ``when``, ``unless`` and all values are CEL."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
    title: Text
    severity: Severity = Field(strict=False)
    confidence: float = Field(ge=0, le=1)
    applies: Applies
    needs: tuple[Text, ...] = Field(strict=False, min_length=1)
    for_each: Text | None = None
    let: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], Cel] = Field(default_factory=dict)
    when: tuple[Cel, ...] = Field(strict=False, min_length=1)
    choose: Choose | None = None
    unless: tuple[Cel, ...] = Field((), strict=False)
    summary: Text
    evidence: tuple[EvidenceItem, ...] = Field(strict=False, min_length=1)
    change: tuple[ChangeItem, ...] = Field(strict=False, min_length=1)
    effect: EffectItem
    cost: EffectItem | None = None
    why: Text
    references: tuple[Text, ...] = Field(strict=False, min_length=1)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A checked EffectItem."""

    item: EffectItem
    now: Expression | None
    predicted: Expression
    error: Expression | None
    saved: Expression | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that passed every check."""

    file: RuleFile
    path: Path
    let: Mapping[str, Expression]
    when: tuple[Expression, ...]
    unless: tuple[Expression, ...]
    evidence: tuple[tuple[EvidenceItem, Expression], ...]
    change: tuple[tuple[str, Expression], ...]
    effect: Quantity
    cost: Quantity | None

    @property
    def id(self) -> str:
        """Also the name of its file, its cases, its page and its label in metrics and alerts."""
        return self.file.id


def load(directory: Path) -> tuple[Rule, ...]:
    """Every rule of a directory, by id.

    Raises:
        FileError: The directory cannot be read or is empty of rules, or one of its rules is wrong.
    """
    try:
        paths = sorted(path for path in directory.iterdir() if path.name.endswith(SUFFIX))
    except OSError as error:
        raise FileError(f"{directory}: cannot read the rules: {error.strerror}") from error
    rules = tuple(load_file(path) for path in paths if not path.name.endswith(CASES_SUFFIX))
    if not rules:
        raise FileError(f"{directory}: there is no rule file here (<id>{SUFFIX})")
    return rules


def load_file(path: Path) -> Rule:
    """One rule.

    Raises:
        FileError: It cannot be read, or anything in it is wrong.
    """
    return _Checker(yamlfile.read(path, RuleFile, "a rule file is a mapping with id, title, when, …")).rule()


class _Checker:
    """Checks what the shape alone cannot: names, types, settings, sections."""

    def __init__(self, source: Source[RuleFile]) -> None:
        self._source = source
        self._path = source.path
        self._file = source.content
        self._vocabulary = Vocabulary(self._names())

    def rule(self) -> Rule:
        file = self._file
        if self._path.name != file.id + SUFFIX:
            self._refuse(("id",), f"the file of this rule must be named {file.id}{SUFFIX}")
        sections = {collector.name for collector in (*COLLECTORS, LIGHT)}
        for number, section in enumerate(file.needs):
            if section not in sections:
                self._refuse(("needs", number), f"no section {section}; there are {', '.join(sorted(sections))}")
        let: dict[str, Expression] = {}
        for name, text in file.let.items():
            let[name] = self._expression(("let", name), text, (float, str, bool))
            self._vocabulary = Vocabulary({**self._vocabulary.names, name: let[name].type})
        when = self._conditions("when", file.when)
        if file.choose is not None:
            if file.for_each != "scans":
                self._refuse(("choose",), "the model chooses for a scanned table: add for_each: scans")
            self._vocabulary = Vocabulary({**self._vocabulary.names, **choice.VOCABULARY})
        self._check_summary()
        return Rule(
            file=file,
            path=self._path,
            let=let,
            when=when,
            unless=self._conditions("unless", file.unless),
            evidence=tuple(
                (item, self._expression(("evidence", number, "value"), item.value, (float, str)))
                for number, item in enumerate(file.evidence)
            ),
            change=tuple(self._change(number, item) for number, item in enumerate(file.change)),
            effect=self._quantity("effect", file.effect),
            cost=None if file.cost is None else self._quantity("cost", file.cost),
        )

    def _names(self) -> dict[str, type]:
        names = facts.setting_vocabulary()
        for group, shape in facts.GROUPS.items():
            names |= facts.vocabulary(group, shape)
        if self._file.for_each is not None:
            if self._file.for_each not in facts.LISTS:
                self._refuse(("for_each",), f"no list {self._file.for_each}; there are {', '.join(facts.LISTS)}")
            names |= facts.vocabulary(*facts.LISTS[self._file.for_each])
        return names

    def _conditions(self, key: str, texts: Sequence[str]) -> tuple[Expression, ...]:
        return tuple(self._expression((key, number), text, (bool,)) for number, text in enumerate(texts))

    def _change(self, number: int, item: ChangeItem) -> tuple[str, Expression]:
        setting = SETTINGS.get(item.setting)
        if setting is None:
            self._refuse(("change", number, "setting"), f"unknown setting {item.setting}")
        wanted = float if setting.kind == "number" else str
        return item.setting, self._expression(("change", number, "value"), item.value, (wanted,))

    def _quantity(self, key: str, item: EffectItem) -> Quantity:
        def optional(name: str, text: str | None) -> Expression | None:
            return None if text is None else self._expression((key, name), text, (float,))

        return Quantity(
            item,
            now=optional("now", item.now),
            predicted=self._expression((key, "predicted"), item.predicted, (float,)),
            error=optional("error", item.error),
            saved=optional("read_bytes_saved_per_second", item.read_bytes_saved_per_second),
        )

    def _expression(self, path: _Path, text: str, wanted: tuple[type, ...]) -> Expression:
        try:
            return self._vocabulary.expression(text, wanted)
        except ExpressionError as error:
            self._refuse(path, str(error), error.line, error.column)

    def _check_summary(self) -> None:
        summary, begin = self._file.summary, 0
        try:
            found = placeholders(summary)
        except ValueError as error:
            self._refuse(("summary",), f"{error}; write {{{{ and }}}} for braces")
        for name, spec in found:
            shown = f"{{{name}{spec}}}"
            begin = max(summary.find(shown, begin), 0)
            line, column = position(summary, begin)
            kind = self._vocabulary.names.get(name)
            if kind is None:
                self._refuse(("summary",), f"unknown name in {shown}", line, column)
            if spec not in FORMATS:
                known = ", ".join(f"{{{name}{each}}}" for each in FORMATS)
                self._refuse(("summary",), f"unknown format {shown}; there are {known}", line, column)
            if spec and kind is not float:
                self._refuse(("summary",), f"{shown} is no number: write {{{name}}}", line, column)

    def _refuse(self, path: _Path, message: str, line: int = 1, column: int = 1) -> NoReturn:
        raise self._source.error(path, message, line, column)
