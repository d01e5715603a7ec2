"""Rule files: read, checked whole, and refused with file, line and column when anything is wrong."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

from advisor import facts
from advisor.expressions import Expression, ExpressionError, Result, Vocabulary
from advisor.recommendation import Severity
from advisor.settings import SETTINGS
from exporter.collectors import COLLECTORS, LIGHT
from exporter.server import Server, Version, parse_version

SUFFIX = ".yaml"
CASES_SUFFIX = ".cases.yaml"


def _number_as_text(value: object) -> object:
    return repr(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, Field(min_length=1)]
Cel = Annotated[Text, BeforeValidator(_number_as_text)]
"""An expression; a bare number in the file is one too."""

_Path = tuple[str | int, ...]


class RuleError(ValueError):
    """A rule file cannot be used; the text begins with file:line:column."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class VersionRange(_Part):
    """Versions a rule applies to: ``from`` included, ``below`` not."""

    from_: Text | None = Field(None, alias="from")
    below: Text | None = None

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
    error: float | None = None
    read_bytes_saved_per_second: Cel | None = None


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
        RuleError: The directory cannot be read or is empty of rules, or one of its rules is wrong.
    """
    try:
        paths = sorted(path for path in directory.iterdir() if path.name.endswith(SUFFIX))
    except OSError as error:
        raise RuleError(f"{directory}: cannot read the rules: {error.strerror}") from error
    rules = tuple(load_file(path) for path in paths if not path.name.endswith(CASES_SUFFIX))
    if not rules:
        raise RuleError(f"{directory}: there is no rule file here (<id>{SUFFIX})")
    return rules


def load_file(path: Path) -> Rule:
    """One rule.

    Raises:
        RuleError: It cannot be read, or anything in it is wrong.
    """
    try:
        tree = YAML(typ="rt", pure=True).load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RuleError(f"{path}: cannot read it: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RuleError(f"{path}: not UTF-8 text: {error.reason}") from error
    except MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise RuleError(f"{where}: {error.problem or 'not YAML'}") from error
    if not isinstance(tree, Mapping):
        raise RuleError(f"{path}:1:1: a rule file is a mapping with id, title, when, …")
    try:
        file = RuleFile.model_validate(tree)
    except ValidationError as error:
        # A key that is unknown is more often a misspelt one than the missing one is forgotten.
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        where = _Place(path, tree).of(first["loc"])
        name = ".".join(str(part) for part in first["loc"])
        text = "there is no such key" if first["type"] == "extra_forbidden" else first["msg"]
        raise RuleError(f"{where}: {name}: {text}") from None
    return _Checker(path, tree, file).rule()


class _Checker:
    """Checks what the shape alone cannot: names, types, settings, sections."""

    def __init__(self, path: Path, tree: Any, file: RuleFile) -> None:
        self._path = path
        self._file = file
        self._place = _Place(path, tree)
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
        self._check_summary()
        return Rule(
            file=file,
            path=self._path,
            let=let,
            when=self._conditions("when", file.when),
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
            saved=optional("read_bytes_saved_per_second", item.read_bytes_saved_per_second),
        )

    def _expression(self, path: _Path, text: str, wanted: tuple[type, ...]) -> Expression:
        try:
            return self._vocabulary.expression(text, wanted)
        except ExpressionError as error:
            where = self._place.of(path, error.line, error.column)
            raise RuleError(f"{where}: {'.'.join(map(str, path))}: {error}") from None

    def _check_summary(self) -> None:
        for name, spec in placeholders(self._file.summary):
            if name not in self._vocabulary.names:
                self._refuse(("summary",), f"unknown name {{{name}}}")
            if spec not in FORMATS:
                self._refuse(("summary",), f"unknown format {{{name}:{spec}}}; there are {', '.join(FORMATS)}")

    def _refuse(self, path: _Path, message: str) -> NoReturn:
        raise RuleError(f"{self._place.of(path)}: {'.'.join(map(str, path))}: {message}")


class _Place:
    """Finds where in the file a value stands."""

    def __init__(self, path: Path, tree: Any) -> None:
        self._path = path
        self._tree = tree

    def of(self, path: Sequence[str | int], line: int = 1, column: int = 1) -> str:
        """file:line:column of the value at ``path``, or of a spot within it (both from 1)."""
        node: Any = self._tree
        mark = (0, 0)
        for key in path:
            try:
                mark = node.lc.value(key) if isinstance(key, str) else node.lc.item(key)
                node = node[key]
            except (AttributeError, LookupError, TypeError):
                break  # what is missing stands, if anywhere, in what holds it
        style = type(node).__name__
        if style in ("FoldedScalarString", "LiteralScalarString"):
            # A block scalar begins on the line after its mark; its column is the file's business.
            return f"{self._path}:{mark[0] + 1 + line}:{column}"
        quoted = style in ("SingleQuotedScalarString", "DoubleQuotedScalarString")
        first = mark[1] + int(quoted) if line == 1 else 0
        return f"{self._path}:{mark[0] + line}:{first + column}"


def placeholders(template: str) -> list[tuple[str, str]]:
    """Names and formats in a summary such as ``{scan.table} ({scan.bytes:bytes})``."""
    return [(name, spec or "") for _, name, spec, _ in string.Formatter().parse(template) if name]


def fill(template: str, values: Mapping[str, Result | None]) -> str:
    """A summary with its values put in; one that is not known becomes ``?``."""
    parts = []
    for literal, name, spec, _ in string.Formatter().parse(template):
        parts.append(literal)
        if name:
            value = values.get(name)
            parts.append("?" if value is None else FORMATS[spec or ""](value))
    return "".join(parts)


def _bytes(value: Result) -> str:
    size = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.3g} {unit}" if unit != "B" else f"{size:.0f} B"
        size /= 1024
    return f"{size:.3g} TiB"


def _rounded(value: Result) -> str:
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 10 else f"{number:.1f}".removesuffix(".0")


FORMATS: dict[str, Callable[[Result], str]] = {"": str, "bytes": _bytes, "number": _rounded}
"""How a summary may show a value: as it is, bytes in binary units, or a number for people."""
