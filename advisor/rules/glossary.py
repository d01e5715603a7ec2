"""What the names in rule expressions mean, from the facts' own docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from advisor import facts
from advisor.rules.check import Rule
from advisor.whatif import choice
from exporter import knowledge

_WORDS = {float: "number", str: "text", bool: "true or false"}
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\d[\w.]*|([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)')


@dataclass(frozen=True, slots=True)
class Name:
    """A name that expressions may use.

    Attributes:
        kind: number, text, or true or false.
        meaning: With its unit; shared with the names of ``beside``.
        beside: The names that are explained together, in their order, this one among them.
    """

    name: str
    kind: str
    meaning: str
    beside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Names that belong together.

    Attributes:
        name: What their names begin with.
        for_each: What a rule must say to have them; None where every rule has them.
        about: One sentence.
    """

    name: str
    for_each: str | None
    about: str
    names: tuple[Name, ...]


@cache
def groups() -> tuple[Group, ...]:
    """Everything but the settings."""
    found = [_group(name, None, shape) for name, shape in facts.GROUPS.items()]
    found += [_group(name, for_each, shape) for for_each, (name, shape) in facts.LISTS.items()]
    return (*found, _group(choice.GROUP, None, choice.Choice))


@cache
def settings() -> tuple[Name, ...]:
    """The settings, with unit or words and where they exist by the knowledge file."""
    kinds = facts.setting_vocabulary()
    return tuple(Name(name, _WORDS[kind], _setting(name.partition(".")[2]), (name,)) for name, kind in kinds.items())


def used(rule: Rule, texts: Iterable[str]) -> tuple[Name, ...]:
    """The names that stand in expressions of a rule, each once, in their order; its own ``let`` left out."""
    known = {each.name: each for each in settings()} | {n.name: n for group in groups() for n in group.names}
    names = dict.fromkeys(name for text in texts for name in names_in(text))
    return tuple(known[name] for name in names if name in known and name not in rule.let)


def names_in(expression: str) -> list[str]:
    """The names in an expression, functions among them."""
    return [found[1] for found in _NAME.finditer(expression) if found[1]]


def _group(name: str, for_each: str | None, shape: type) -> Group:
    about, meanings = _documented(shape)
    kinds = facts.vocabulary(name, shape)
    names = []
    for each, kind in kinds.items():
        attribute = each.partition(".")[2]
        beside, meaning = meanings.get(attribute, ([attribute], ""))
        names.append(Name(each, _WORDS[kind], meaning, tuple(f"{name}.{other}" for other in beside)))
    return Group(name, for_each, about, tuple(names))


def table(names: Iterable[Name]) -> str:
    """In markdown, with a row for those that are explained together."""
    lines = ["| name | type | what it is |", "| --- | --- | --- |"]
    rows: dict[tuple[tuple[str, ...], str], dict[str, None]] = {}
    for name in names:
        rows.setdefault((name.beside, name.meaning), {})[name.kind] = None
    for (beside, meaning), kinds in rows.items():
        shown = ", ".join(f"`{name}`" for name in beside)
        lines.append(f"| {shown} | {', '.join(kinds)} | {meaning.replace('|', '/')} |")
    return "\n".join(lines)


def _documented(shape: type) -> tuple[str, Mapping[str, tuple[list[str], str]]]:
    """What a class's docstring says of it as a whole, and of each attribute with those that share its entry."""
    about, _, attributes = (inspect.getdoc(shape) or "").partition("\nAttributes:\n")
    meanings: dict[str, tuple[list[str], str]] = {}
    for found in re.finditer(r"^    (\w[\w,\s]*): (.*(?:\n      +.*)*)", attributes, re.MULTILINE):
        meaning, together = " ".join(found[2].split()).replace("``", "`"), found[1].replace(",", " ").split()
        meanings |= dict.fromkeys(together, (together, meaning))
    return " ".join(about.split()).replace("``", "`"), meanings


def _setting(name: str) -> str:
    known = knowledge.SETTINGS.get(name)
    if known is None:
        return ""
    if known.kind == "number":
        return known.unit or "a whole number"
    versions = (*known.words.mysql, *known.words.mariadb)
    words = dict.fromkeys(word for _, each in versions for word in each)
    return ", ".join(f"`{word}`" for word in words) or "a text"
