"""`rules list` and `rules show`: the rules, and one of them explained."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from advisor.cli.actions.output import say, say_json
from advisor.cli.actions.setup import load_setup
from advisor.cli.exits import Unusable
from advisor.cli.options import SetupOptions
from advisor.contract.visible import visible_lines
from advisor.files import yaml_file
from advisor.rules import page
from advisor.rules.check import Rule
from advisor.rules.file import RuleFile
from advisor.rules.rulebook import Rulebook


def list_rules(*, setup: SetupOptions, as_json: bool) -> None:
    """Print a line per rule."""
    book = load_setup(setup).book
    if as_json:
        say_json([_summary(book, each) for each in book.rules])
        return
    from advisor.cli.actions import rules_text  # noqa: PLC0415 - only text needs rich

    rules_text.print_list(book)


def show(*, rule_id: str, setup: SetupOptions, style: str) -> None:
    """Print the page of a rule, or its file."""
    book = load_setup(setup).book
    rule = find(book.rules, rule_id)
    markdown = page.markdown(rule, book.origin(rule.id))
    match style:
        case "json":
            file = rule.file.model_dump(mode="json", by_alias=True, exclude_none=True)
            say_json(_summary(book, rule) | file)
        case "markdown":
            say(markdown, nl=False)
        case "yaml":
            text = yaml_file.read(rule.path, RuleFile, "").text
            click.echo(visible_lines(text) if sys.stdout.isatty() else text, nl=False)
        case _:
            from advisor.cli.actions import rules_text  # noqa: PLC0415 - only text needs rich

            rules_text.print_page(markdown)


def find(rules: Sequence[Rule], rule_id: str) -> Rule:
    """The rule of this id.

    Raises:
        Unusable: There is none.
    """
    rule = next((each for each in rules if each.id == rule_id), None)
    if rule is None:
        raise Unusable(f"there is no rule {rule_id}; there are {', '.join(each.id for each in rules) or 'none'}")
    return rule


def _summary(book: Rulebook, rule: Rule) -> dict[str, object]:
    file = rule.file
    return {
        "id": rule.id,
        "title": file.title,
        "severity": file.severity.value,
        "origin": book.origin(rule.id),
        "servers": page.applies(rule),
        "file": str(rule.path),
    }
