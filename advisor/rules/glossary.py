"""What the names in rule expressions mean, from the declarations of the facts."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from advisor import facts
from advisor.facts import choice
from advisor.rules.check import Rule
from advisor.rules.expressions import names_in
from exporter import knowledge

_WORDS = {float: "number", str: "text", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Name:
    """A name that expressions may use.

    Attributes:
        kind: number, text, or true or false.
        unit: Of a number; empty where it has none.
        meaning: One or more sentences.
    """

    name: str
    kind: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class NameGroup:
    """Names that belong together.

    Attributes:
        name: What their names begin with.
        for_each: What a rule must say to have them; None where every rule has them.
        about: One or more sentences.
    """

    name: str
    for_each: str | None
    about: str
    names: tuple[Name, ...]


@cache
def groups() -> tuple[NameGroup, ...]:
    """Everything but the settings."""
    of_all = [_group(name, None, shape) for name, shape in facts.GROUPS.items()]
    of_lists = [_group(name, for_each, shape) for for_each, (name, shape) in facts.LISTS.items()]
    return (*of_all, *of_lists, _group(choice.GROUP, None, choice.Choice))


@cache
def settings() -> tuple[Name, ...]:
    """The settings, with their unit or words by the knowledge file."""
    kinds = facts.setting_vocabulary()
    return tuple(Name(name, _WORDS[kind], "", _setting(name.partition(".")[2])) for name, kind in kinds.items())


def names_of(rule: Rule, texts: Iterable[str]) -> tuple[Name, ...]:
    """The names in some expressions of a rule, each once, in their order; its own ``let`` left out."""
    facts_by_name = {fact.name: fact for fact in (*settings(), *(fact for group in groups() for fact in group.names))}
    names = dict.fromkeys(name for text in texts for name in names_in(text))
    return tuple(facts_by_name[name] for name in names if name in facts_by_name and name not in rule.file.let)


def table(names: Iterable[Name]) -> str:
    """The names in markdown, one row each."""
    lines = ["| name | type | meaning |", "| --- | --- | --- |"]
    lines += [f"| `{name.name}` | {_type(name)} | {name.meaning.replace('|', '/')} |" for name in names]
    return "\n".join(lines)


def _group(name: str, for_each: str | None, shape: type) -> NameGroup:
    names = tuple(
        Name(f"{name}.{fact.name}", _WORDS[fact.kind], fact.meaning.unit, fact.meaning.text)
        for fact in facts.fact_fields(shape)
    )
    return NameGroup(name, for_each, " ".join((inspect.getdoc(shape) or "").split()), names)


def _type(name: Name) -> str:
    return f"{name.kind} ({name.unit})" if name.unit else name.kind


def _setting(name: str) -> str:
    setting = knowledge.SETTINGS.get(name)
    if setting is None:
        return ""
    if setting.kind == "number":
        return setting.unit or "a whole number"
    versions = (*setting.words.mysql, *setting.words.mariadb)
    words = dict.fromkeys(word for _, of_version in versions for word in of_version)
    return ", ".join(f"`{word}`" for word in words) or "a text"
