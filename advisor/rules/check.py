"""The check of rule files: each is read and checked as a whole; errors name file, line and column."""

from __future__ import annotations

import contextlib
import functools
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from advisor import facts
from advisor.contract.settings import SETTINGS
from advisor.contract.templates import FORMATS, TEXT_FORMATS, placeholders
from advisor.files import yaml_file
from advisor.files.yaml_file import Document, FileError, Key, position
from advisor.rules.expressions import EvaluationError, Expression, ExpressionError, Missing, Vocabulary
from advisor.rules.file import ActionItem, ChangeItem, EffectItem, RuleFile
from exporter.collectors import DEFAULT

SUFFIX = ".yaml"
CASES_SUFFIX = ".cases.yaml"

_CLOSED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|/\*.*?\*/|(?:--\s|\#)[^\n]*\n""", re.DOTALL)
_OPEN = re.compile(r"""['"`\#]|/\*|--\s""")
"""Quotes and comments in SQL: with and without their ends."""
_Path = tuple[Key, ...]
_COMPILED = 256
"""Rules that a process keeps compiled: several times the built-in ones, so that a user's fit beside them."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that passed every check.

    Attributes:
        expressions: Everything in the file that is CEL, by its text.
    """

    file: RuleFile
    path: Path
    expressions: Mapping[str, Expression]

    @property
    def id(self) -> str:
        """The name of its file, its cases and its page, and its label in metrics and alerts."""
        return self.file.id

    def with_budget(self, seconds: float) -> Rule:
        """The same rule with this CPU time."""
        return replace(self, file=self.file.model_copy(update={"budget_seconds": seconds}))


def load(directory: Path) -> tuple[Rule, ...]:
    """The rules of a directory, by id.

    Raises:
        FileError: The directory cannot be read, or one of its rules is wrong.
    """
    return tuple(map(load_file, files(directory)))


def files(directory: Path) -> tuple[Path, ...]:
    """The rule files of a directory, by id.

    It may also hold their cases, the hidden files of a mounted ConfigMap, and anything else.

    Raises:
        FileError: It cannot be read.
    """
    try:
        paths = sorted(directory.iterdir())
    except OSError as error:
        raise FileError(f"{directory}: cannot read the rules: {error.strerror}") from error
    return tuple(
        path
        for path in paths
        if path.name.endswith(SUFFIX) and not path.name.endswith(CASES_SUFFIX) and not path.name.startswith(".")
    )


def load_file(path: Path) -> Rule:
    """One rule.

    Raises:
        FileError: The file cannot be read or is invalid.
    """
    return _compiled(path, yaml_file.content(path))


@functools.lru_cache(maxsize=_COMPILED)
def _compiled(path: Path, text: str) -> Rule:
    """The rule in the text of a file, which is compiled once a process: it takes 20 ms."""
    return _Checker(yaml_file.parse(path, text, RuleFile, "a rule file is a mapping with id, title, when, …")).rule()


class _Checker:
    """The checks beyond the shape: names, types, settings and sections."""

    def __init__(self, source: Document[RuleFile]) -> None:
        self._source = source
        self._path = source.path
        self._file = source.content
        self._vocabulary = Vocabulary(self._kinds(choose=False))
        self._expressions: dict[str, Expression] = {}

    def rule(self) -> Rule:
        """The rule. Raises FileError at the first thing that is wrong."""
        file = self._file
        self._check_head()
        for name, text in file.let.items():
            kind = self._expression(("let", name), text, (float, str, bool)).type
            self._vocabulary = Vocabulary({**self._vocabulary.names, name: kind})
        self._check_conditions("when", file.when)
        self._check_lasting()
        self._optional(("trend",), file.trend, float)
        self._check_choice()
        self._check_template(("summary",), file.summary)
        self._check_conditions("unless", file.unless)
        self._check_blind()
        for number, item in enumerate(file.evidence):
            self._check_template(("evidence", number, "unit"), item.unit)
            self._check_template(("evidence", number, "source"), item.source)
            self._expression(("evidence", number, "value"), item.value, (float, str))
        for number, change in enumerate(file.change):
            self._check_change(number, change)
        for number, action in enumerate(file.action):
            self._check_action(number, action)
        for key, effect in (("effect", file.effect), ("cost", file.cost)):
            if effect is not None:
                self._check_effect(key, effect)
        return Rule(file, self._path, self._expressions)

    def _check_head(self) -> None:
        """Everything that needs no expression."""
        file = self._file
        if self._path.name != file.id + SUFFIX:
            self._refuse(("id",), f"the file of this rule must be named {file.id}{SUFFIX}")
        sections = {collector.name for collector in DEFAULT}
        for number, section in enumerate(file.needs):
            if section not in sections:
                self._refuse(("needs", number), f"no section {section}; there are {', '.join(sorted(sections))}")
        if not (file.change or file.action or file.take_back):
            self._refuse(("id",), "a rule needs something to do: add change or action")
        if file.take_back and file.for_each != "harms":
            self._refuse(("take_back",), "only a change that did harm is taken back (for_each: harms)")

    def _check_lasting(self) -> None:
        lasting = self._file.lasting
        if lasting is not None:
            if lasting.until > lasting.share:
                self._refuse(("lasting", "until"), "must not be more than share")
            self._expression(("lasting", "condition"), lasting.condition, (bool,))

    def _check_choice(self) -> None:
        """The model's choice, whose names the rest of the file may use."""
        file = self._file
        if file.choose is None:
            return
        if file.for_each not in (None, "scans"):
            self._refuse(("choose",), "the model chooses for a scanned table (for_each: scans) or for the server")
        if file.choose.model == "curve" and (file.for_each, file.choose.setting) != (None, "innodb_buffer_pool_size"):
            self._refuse(("choose",), "the curve chooses innodb_buffer_pool_size, for the server")
        self._optional(("choose", "at_most"), file.choose.at_most, float)
        self._vocabulary = Vocabulary({**self._vocabulary.names, **self._kinds(choose=True)})

    def _check_blind(self) -> None:
        blind = self._file.blind
        if blind is not None:
            self._check_template(("blind", "reason"), blind.reason)
            if blind.cure is not None:
                self._check_template(("blind", "cure"), blind.cure)
            self._expression(("blind", "if"), blind.only_if, (bool,))

    def _kinds(self, *, choose: bool) -> dict[str, type]:
        """The types of the facts that the rule may name."""
        for_each = self._file.for_each
        if for_each is not None and for_each not in facts.LISTS:
            self._refuse(("for_each",), f"no list {for_each}; there are {', '.join(facts.LISTS)}")
        self._facts = facts.names(for_each, choose=choose)
        return {name: fact.kind for name, fact in self._facts.items()}

    def _check_conditions(self, key: str, texts: Sequence[str]) -> None:
        for number, text in enumerate(texts):
            self._expression((key, number), text, (bool,))

    def _check_change(self, number: int, item: ChangeItem) -> None:
        setting = SETTINGS.get(item.setting)
        if setting is None:
            self._refuse(("change", number, "setting"), f"unknown setting {item.setting}")
        value = self._expression(("change", number, "value"), item.value, (float if setting.kind == "number" else str,))
        with contextlib.suppress(Missing, EvaluationError):  # a constant has its value now
            if not setting.accepts(value({})):
                self._refuse(("change", number, "value"), f"{item.setting} takes {setting.range_on(None)}")
        self._optional(("change", number, "if"), item.only_if, bool)

    def _check_action(self, number: int, item: ActionItem) -> None:
        self._check_template(("action", number, "do"), item.do)
        for key, templates in (("apply", item.apply), ("rollback", item.rollback)):
            for line, template in enumerate(templates):
                self._check_sql(("action", number, key, line), template)
        self._optional(("action", number, "if"), item.only_if, bool)

    def _check_effect(self, key: str, item: EffectItem) -> None:
        self._check_template((key, "quantity"), item.quantity)
        self._check_template((key, "unit"), item.unit)
        self._optional((key, "if"), item.only_if, bool)
        self._optional((key, "now"), item.now, float)
        self._expression((key, "predicted"), item.predicted, (float,))
        self._optional((key, "error"), item.error, float)
        self._optional((key, "read_bytes_saved_per_second"), item.read_bytes_saved_per_second, float)

    def _optional(self, path: _Path, text: str | None, kind: type) -> None:
        if text is not None:
            self._expression(path, text, (kind,))

    def _expression(self, path: _Path, text: str, kinds: tuple[type, ...]) -> Expression:
        try:
            expression = self._vocabulary.expression(text, kinds)
        except ExpressionError as error:
            self._refuse(path, str(error), error.line, error.column)
        self._expressions[text] = expression
        return expression

    def _check_template(self, path: _Path, template: str) -> None:
        begin = 0
        try:
            names = placeholders(template)
        except ValueError as error:
            self._refuse(path, f"{error}; write {{{{ and }}}} for braces")
        for name, spec in names:
            shown = f"{{{name}{spec}}}"
            begin = max(template.find(shown, begin), 0)
            line, column = position(template, begin)
            kind = self._vocabulary.names.get(name)
            if kind is None:
                self._refuse(path, f"unknown name in {shown}", line, column)
            if spec not in FORMATS:
                formats = ", ".join(f"{{{name}{form}}}" for form in FORMATS)
                self._refuse(path, f"unknown format {shown}; there are {formats}", line, column)
            if spec and (kind is str) != (spec in TEXT_FORMATS):
                what = "no number: write" if kind is str else "no text: write"
                self._refuse(path, f"{shown} is {what} {{{name}}}", line, column)

    def _check_sql(self, path: _Path, template: str) -> None:
        """A template of a statement. A name in it could end what it stands in, and begin another statement."""
        self._check_template(path, template)
        before = ""
        for text, name, spec, _ in string.Formatter().parse(template):
            before += text
            if name is None or self._vocabulary.names[name] is not str:
                continue
            shown = f"{{{name}{f':{spec}' if spec else ''}}}"
            if f":{spec}" not in TEXT_FORMATS and not (name in self._facts and self._facts[name].sql):
                self._refuse(path, f"{shown} could be any SQL: write {{{name}:identifier}} or {{{name}:literal}}")
            if spec and _OPEN.search(_CLOSED.sub("", before)):
                self._refuse(path, f"{shown} is quoted already: it cannot stand in quotes or in a comment")

    def _refuse(self, path: _Path, message: str, line: int = 1, column: int = 1) -> NoReturn:
        raise self._source.error(path, message, line, column)
