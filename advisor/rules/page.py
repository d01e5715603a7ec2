"""A rule's page in markdown: when it fires, why, its evidence, its fixes and its proofs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence

from advisor import facts
from advisor.facts import Fact
from advisor.files import yaml_file
from advisor.files.yaml_file import FileError
from advisor.rules.check import Rule
from advisor.rules.expressions import names_in
from advisor.rules.file import EffectItem, RuleFile, VersionRange
from advisor.rules.rulebook import installed
from exporter import knowledge

_KINDS = {float: "number", str: "text", bool: "true or false"}
_FAMILIES = {"mysql": "MySQL", "mariadb": "MariaDB"}
_PLATFORMS = {
    "percona": "Percona Server",
    "aurora": "Aurora",
    "rds": "RDS",
    "azure": "Azure",
    "cloudsql": "Cloud SQL",
}


def markdown(rule: Rule, origin: str = "", proofs: Sequence[str] = ()) -> str:
    """The page.

    Args:
        rule: A rule that was loaded.
        origin: Where the rule comes from, in words.
        proofs: What its cases show, one line for each.
    """
    file = rule.file
    about = [f"`{rule.id}`", file.severity.value, f"confidence {file.confidence:g}", origin]
    parts = [
        f"# {file.title}",
        " · ".join(filter(None, about)),
        f"For {applies(rule)}.",
        "## When it fires",
        *_conditions(rule),
        f"It needs {_names(file.needs)}. Where one of them cannot be read, the rule is blind.",
        "## Why",
        file.why.strip(),
        "## Evidence",
        _evidence(rule),
        "## How to fix it",
        *_fixes(rule),
        *(["## How it was proved"] if file.proved or proofs else []),
        *([_list(file.proved)] if file.proved else []),
        *(["`innodb-advisor rules test` replays its cases:", _list(proofs)] if proofs else []),
        "## References",
        _list([f"<{reference}>" if reference.startswith("http") else reference for reference in file.references]),
    ]
    return "\n\n".join(parts) + "\n"


def applies(rule: Rule) -> str:
    """The servers that a rule applies to, in words."""
    condition = rule.file.applies
    ranges = [
        f"{_FAMILIES[family]}{_versions(versions)}"
        for family, versions in (("mysql", condition.mysql), ("mariadb", condition.mariadb))
        if versions is not None
    ]
    text = " and ".join(ranges) or "MySQL and MariaDB"
    for name in condition.has:
        what = knowledge.BEHAVIOURS[name].what.rstrip(".")
        text += f", where this holds: {what} (`{name}`)"
    if condition.not_on:
        text += f"; not on {', '.join(_PLATFORMS[platform] for platform in condition.not_on)}"
    return text


def _versions(versions: VersionRange) -> str:
    match versions.from_, versions.below:
        case None, None:
            return ""
        case first, None:
            return f" {first} and later"
        case None, below:
            return f" below {below}"
        case first, below:
            return f" {first} and later, below {below}"


def proof_record(rule_id: str) -> str | None:
    """The record of a built-in rule's proof on real servers, in markdown, without its heading.

    None where no server here can provoke the rule.
    """
    try:
        page = installed("builtin_rules/proofs.md", "docs/proofs.md").read_text(encoding="utf-8")
    except OSError:
        return None
    section = re.search(rf"^## {re.escape(rule_id)}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    return None if section is None else re.sub(r" \(\[its page\]\([^)]*\)\)", "", section[1]).strip()


def _conditions(rule: Rule) -> Iterator[str]:
    file, words = rule.file, _words(rule)
    if file.for_each is not None:
        _, shape = facts.LISTS[file.for_each]
        yield f"It looks at each of `{file.for_each}`. {about(shape)}"
    yield "All of these must hold:"
    yield _list([_condition(text, words.get(("when", n))) for n, text in enumerate(file.when)])
    if file.unless:
        yield "None of these may hold:"
        yield _list([_condition(text, words.get(("unless", n))) for n, text in enumerate(file.unless)])
    if file.lasting is not None:
        yield (
            f"It must last: `{_line(file.lasting.condition)}` holds in at least {file.lasting.share:.0%} of the slices"
            f" of the window. The finding clears when it holds in less than {file.lasting.until:.0%}."
        )
    if file.blind is not None:
        yield f"It is blind, and lacks {file.blind.lacks}, where `{_line(file.blind.only_if)}`."
    if file.choose is not None:
        bound = f", at most `{_line(file.choose.at_most)}`" if file.choose.at_most else ""
        yield (
            f"The LRU model (docs/lru-model.md) chooses a value for `{file.choose.setting}`{bound}."
            " The names in `choice` are that value and its effect."
        )
    if file.let:
        yield "Where:"
        yield _list([_condition(f"{name} = {text}", words.get(("let", name))) for name, text in file.let.items()])
    yield "Names:"
    yield names_table(_names_of(rule))


def _names_of(rule: Rule) -> list[Fact]:
    """The facts in the conditions of a rule, each once, in their order."""
    file = rule.file
    expressions = [*file.when, *file.unless]
    expressions += [file.lasting.condition] if file.lasting else []
    expressions += [file.trend] if file.trend else []
    expressions += [file.blind.only_if] if file.blind else []
    expressions += [file.choose.at_most] if file.choose and file.choose.at_most else []
    expressions += file.let.values()
    known = facts.names(file.for_each, choose=file.choose is not None)
    names = dict.fromkeys(name for text in expressions for name in names_in(text))
    return [known[name] for name in names if name in known]


def names_table(names: Iterable[Fact]) -> str:
    """Facts in markdown, one row each."""
    lines = ["| name | type | meaning |", "| --- | --- | --- |"]
    for fact in names:
        kind = _KINDS[fact.kind] + (f" ({fact.unit})" if fact.unit else "")
        lines.append(f"| `{fact.name}` | {kind} | {fact.meaning.replace('|', '/')} |")
    return "\n".join(lines)


def about(shape: type) -> str:
    """What a class of facts is about, in one or more sentences."""
    return " ".join((inspect.getdoc(shape) or "").split())


def _evidence(rule: Rule) -> str:
    lines = ["| evidence | value | unit | source |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {_cell(item.name.replace('_', ' '))} | `{_cell(_line(item.value))}` | {item.unit} | {_cell(item.source)} |"
        for item in rule.file.evidence
    ]
    return "\n".join(lines)


def _fixes(rule: Rule) -> Iterator[str]:
    file = rule.file
    fixes = [
        f"Set `{change.setting}` to `{_line(change.value)}`{_only_if(change.only_if)}. The recommendation has the SQL"
        " for the server at hand, the SQL to take it back, and the line for its option file."
        for change in file.change
    ]
    if file.take_back:
        fixes.append(
            "Set each setting back to the value that it had before the change. The recommendation has the SQL for the"
            " server at hand, or the line for its option file."
        )
    for action in file.action:
        text = f"{_line(action.do)}{_only_if(action.only_if)}"
        text += "".join(f"\n\n  ```sql\n  {statement.strip()};\n  ```" for statement in action.apply)
        if action.rollback:
            text += "\n\n  To take it back:"
            text += "".join(f"\n\n  ```sql\n  {statement.strip()};\n  ```" for statement in action.rollback)
        fixes.append(text)
    yield _list(fixes)
    if file.effect is not None:
        yield f"Effect: {_quantity(file.effect)}"
    if file.cost is not None:
        yield f"Cost: {_quantity(file.cost)}"


def _quantity(item: EffectItem) -> str:
    now = f"from `{_line(item.now)}` " if item.now else ""
    model = f", by the model `{item.model}`" if item.model else ""
    return f"{item.quantity}, {now}to `{_line(item.predicted)}`{model}."


def _only_if(text: str | None) -> str:
    return f", if `{_line(text)}`" if text else ""


def _condition(text: str, words: str | None) -> str:
    return f"`{_line(text)}`" + (f": {words}" if words else "")


def _words(rule: Rule) -> dict[tuple[str, int | str], str]:
    """The comments beside the conditions in the rule's file, or right above them."""
    keys: list[tuple[str, int | str]] = [("when", n) for n in range(len(rule.file.when))]
    keys += [("unless", n) for n in range(len(rule.file.unless))]
    keys += [("let", name) for name in rule.file.let]
    try:
        now = yaml_file.read(rule.path, RuleFile, "")
    except FileError:
        return {}  # a user's file is gone
    if now.content != rule.file:
        return {}  # it has changed since it was loaded
    lines = now.text.splitlines()
    comments = {key: _comment(lines, now.key_position(key)[0] - 1) for key in keys}
    return {key: comment for key, comment in comments.items() if comment}


def _comment(lines: Sequence[str], line: int) -> str:
    if beside := re.search(r"\s#\s+(.*)$", lines[line]):
        return beside[1].strip()
    above: list[str] = []
    while line > 0 and (comment := re.match(r"\s*#\s?(.*)$", lines[line - 1])):
        above.insert(0, comment[1].strip())
        line -= 1
    return " ".join(above)


def _names(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _list(items: Sequence[str]) -> str:
    return "\n".join(f"- {item.strip()}" for item in items)


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
