"""`rules`: the list of rules, one of them explained, and their cases replayed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.cli.options import SetupOptions, format_option, rules_options
from advisor.cli.output import FINDINGS, Unusable, epilog
from advisor.contract.visible import visible, visible_lines

if TYPE_CHECKING:
    from advisor.advice.trace import Evaluation
    from advisor.casetest.execution import Difference
    from advisor.contract.recommendation import Advice
    from advisor.rules.check import Rule
    from advisor.rules.rulebook import Rulebook

_PASS, _FAIL = "PASS", "FAIL"
_NO_CAPTURES = (
    "the cases of the built-in rules replay captures that only the source tree has: "
    "name a directory of your own, or run this in a checkout"
)


@click.group(epilog=epilog("rules list", "rules show scan-exceeds-old-sublist", "rules test ./my-rules"))
def rules() -> None:
    """List the rules, explain one, or test them, your own too."""


@rules.command("list", epilog=epilog("rules list", "rules list --rules ./my-rules --json"))
@rules_options
@click.option("--json", "as_json", is_flag=True, help="Print a list with a JSON object per rule.")
def list_rules(*, setup: SetupOptions, as_json: bool) -> None:
    """List the rules."""
    from advisor.cli.output import put, say_json

    loaded, _ = setup.load()
    if as_json:
        say_json([_summary(loaded, rule) for rule in loaded.rules])
        return
    from advisor.render.blocks import TextDocument, TextTable

    rows = tuple(
        (rule.id, rule.file.severity.value, loaded.rule_set.origins[rule.id], rule.file.title) for rule in loaded.rules
    )
    put(TextDocument("Rules", (TextTable(("rule", "severity", "origin", "title"), rows),)))


@rules.command(
    epilog=epilog("rules show scan-exceeds-old-sublist", "rules show my-rule --rules ./my-rules --format markdown")
)
@click.argument("rule_id", metavar="ID")
@rules_options
@format_option("text", "json", "markdown", "yaml", explanation="yaml is the rule's own file.")
def show(*, rule_id: str, setup: SetupOptions, style: str) -> None:
    """Explain a rule: when it fires, why, its evidence, how to fix it, and how that was proved."""
    from advisor.cli.output import say, say_json
    from advisor.files import yaml_file
    from advisor.rules import page
    from advisor.rules.file import RuleFile

    loaded, _ = setup.load()
    rule = _rule(loaded.rules, rule_id)
    markdown = page.markdown(rule, loaded.rule_set.origins[rule.id])
    match style:
        case "json":
            file = rule.file.model_dump(mode="json", by_alias=True, exclude_none=True)
            say_json(_summary(loaded, rule) | file)
        case "markdown":
            say(markdown, nl=False)
        case "yaml":
            text = yaml_file.read(rule.path, RuleFile, "").text
            click.echo(visible_lines(text) if sys.stdout.isatty() else text, nl=False)
        case _:
            from advisor.render.text import show_markdown

            show_markdown(markdown)


@rules.command(epilog=epilog("rules test", "rules test ./my-rules", "rules test ./my-rules --rule my-rule -v"))
@click.argument("directory", metavar="[DIR]", type=click.Path(path_type=Path), required=False)
@rules_options
@click.option("--rule", "only", multiple=True, metavar="ID", help="Test only this rule; may be repeated.")
@click.option("-v", "--verbose", is_flag=True, help="Say for every silent case why the rule was silent.")
def test(*, directory: Path | None, setup: SetupOptions, only: Sequence[str], verbose: bool) -> None:
    """Replay the cases of the rules in DIR, and show where a rule differs from what its case expects.

    Without DIR, test the built-in rules and the rules of --rules.
    """
    from advisor.cli.output import say
    from advisor.files.yaml_file import FileError
    from advisor.rules import check

    loaded, _ = setup.load()
    tested = loaded.rules if directory is None else check.load(directory)
    if only:
        tested = tuple(_rule(tested, rule_id) for rule_id in only)
    testable = _testable(tested)
    if not testable:
        raise Unusable(_NO_CAPTURES if tested else f"{directory}: there is no rule file here (<id>.yaml)")
    if len(testable) < len(tested):
        say(f"not tested: {_plural(len(tested) - len(testable), 'rule')}; {_NO_CAPTURES}", err=True)
    tally: Counter[str] = Counter()
    unusable = []
    for rule in testable:
        try:
            tally += _results(rule, verbose=verbose)
        except FileError as error:
            unusable.append(str(error))
    if tally:
        click.echo(
            f"{_plural(sum(tally.values()), 'case')} of {_plural(len(testable) - len(unusable), 'rule')}: "
            f"{tally[_PASS]} passed, {tally[_FAIL]} failed"
        )
    if unusable:
        raise Unusable("\n".join(unusable))
    if tally[_FAIL]:
        sys.exit(FINDINGS)


def _rule(rules: Sequence[Rule], rule_id: str) -> Rule:
    """The rule of this id.

    Raises:
        Unusable: No rule has this id.
    """
    rule = next((rule for rule in rules if rule.id == rule_id), None)
    if rule is None:
        raise Unusable(f"there is no rule {rule_id}; there are {', '.join(rule.id for rule in rules) or 'none'}")
    return rule


def _summary(loaded: Rulebook, rule: Rule) -> dict[str, object]:
    from advisor.rules import page

    return {
        "id": rule.id,
        "title": rule.file.title,
        "severity": rule.file.severity.value,
        "origin": loaded.rule_set.origins[rule.id],
        "servers": page.applies(rule),
        "file": str(rule.path),
    }


def _testable(tested: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules whose captures are here."""
    from advisor.rules.rulebook import builtin_directory

    builtin = builtin_directory()
    if (builtin.parent / "tests" / "captures").is_dir():
        return tuple(tested)
    return tuple(rule for rule in tested if rule.path.parent != builtin)


def _results(rule: Rule, *, verbose: bool) -> Counter[str]:
    """Run the cases of a rule, print how each went, and count passes and failures."""
    from advisor.casetest import cases, execution

    loaded = cases.load(rule)
    click.secho(rule.id, bold=True)
    tally: Counter[str] = Counter()
    for case in loaded:
        unmet, advice, trace = execution.run(rule, case)
        result = _FAIL if unmet else _PASS
        tally[result] += 1
        click.echo(f"  {click.style(result, fg='red' if unmet else 'green')}  {visible(case.name)}")
        for line in (*_table(unmet), *_explanation(advice, trace, failed=bool(unmet), verbose=verbose)):
            click.echo(f"        {visible(line)}")
    return tally


def _explanation(advice: Advice, trace: Sequence[Evaluation], *, failed: bool, verbose: bool) -> Iterator[str]:
    """Why the rule was silent or blind: where its case failed, and with --verbose for every silent case."""
    silent = not (advice.recommendations or advice.blind or advice.failed)
    if silent and (failed or verbose):
        yield "it was silent because"
        yield from (f"  {reason}" for evaluation in trace for reason in evaluation.reasons)
    elif failed:
        yield from (f"it is blind: it lacks {blind.lacks}, {blind.reason}" for blind in advice.blind)


def _table(differences: Sequence[Difference]) -> Iterator[str]:
    """Expected and found values, side by side."""
    if not differences:
        return
    rows = [("", "expected", "found"), *((unmet.what, unmet.expected, unmet.found) for unmet in differences)]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for what, expected, found in rows:
        yield f"{what:{widths[0]}}  {expected:{widths[1]}}  {found}".rstrip()


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
