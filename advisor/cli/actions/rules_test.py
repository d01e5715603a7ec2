"""`rules test`: the cases of rules, replayed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from advisor.advice import evaluation
from advisor.advice.trace import Evaluation
from advisor.casetest import cases, execution
from advisor.casetest.comparison import Difference, differences
from advisor.cli.actions.output import say
from advisor.cli.actions.rules import find
from advisor.cli.actions.setup import load_setup
from advisor.cli.exits import FINDINGS, Unusable
from advisor.cli.options import SetupOptions
from advisor.contract.recommendation import Advice
from advisor.contract.visible import visible
from advisor.files.yaml_file import FileError
from advisor.rules.check import Rule
from advisor.rules.rulebook import builtin_directory, own_rules

PASS, FAIL = "PASS", "FAIL"
_NO_CAPTURES = (
    "the cases of the built-in rules replay captures that only the source tree has: "
    "name a directory of your own, or run this in a checkout"
)


def test(*, directory: Path | None, setup: SetupOptions, only: Sequence[str], verbose: bool) -> None:
    """Run the cases and print each outcome; exit with 1 where one failed.

    Raises:
        FileError: The rules cannot be used.
        Unusable: There is nothing to test, or a case file cannot be used.
    """
    book = load_setup(setup).book
    rules = book.rules if directory is None else own_rules(directory)
    if only:
        rules = tuple(find(rules, each) for each in only)
    testable = _testable(rules)
    if not testable:
        raise Unusable(_NO_CAPTURES if rules else f"{directory}: there is no rule file here (<id>.yaml)")
    if len(testable) < len(rules):
        say(f"not tested: {_plural(len(rules) - len(testable), 'rule')}; {_NO_CAPTURES}", err=True)
    tally: Counter[str] = Counter()
    unusable = []
    for each in testable:
        try:
            tally += _outcomes(each, verbose=verbose)
        except FileError as error:
            unusable.append(str(error))
    if tally:
        click.echo(
            f"{_plural(sum(tally.values()), 'case')} of {_plural(len(testable) - len(unusable), 'rule')}: "
            f"{tally[PASS]} passed, {tally[FAIL]} failed"
        )
    if unusable:
        raise Unusable("\n".join(unusable))
    if tally[FAIL]:
        sys.exit(FINDINGS)


def _testable(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules whose captures are here."""
    builtin = builtin_directory()
    if (builtin.parent / "tests" / "captures").is_dir():
        return tuple(rules)
    return tuple(each for each in rules if each.path.parent != builtin)


def _outcomes(rule: Rule, *, verbose: bool) -> Counter[str]:
    """Run the cases of a rule, print how each went, and count the outcomes."""
    known = cases.load(rule)
    click.secho(rule.id, bold=True)
    tally: Counter[str] = Counter()
    for case in known:
        window = execution.window(case)
        trace = execution.trace(rule, window, case)
        advice = evaluation.advice(trace, window)
        found = differences(case, advice)
        outcome = FAIL if found else PASS
        tally[outcome] += 1
        click.echo(f"  {click.style(outcome, fg='red' if found else 'green')}  {visible(case.name)}")
        for line in (*_table(found), *_explanation(advice, trace, failed=bool(found), verbose=verbose)):
            click.echo(f"        {visible(line)}")
    return tally


def _explanation(advice: Advice, trace: Sequence[Evaluation], *, failed: bool, verbose: bool) -> Iterator[str]:
    """Why the rule was silent or blind: where its case failed, and with --verbose for every silent case."""
    silent = not (advice.recommendations or advice.blind or advice.failed)
    if silent and (failed or verbose):
        yield "it was silent because"
        yield from (f"  {reason}" for each in trace for reason in each.reasons)
    elif failed:
        yield from (f"it is blind: it lacks {each.lacks}, {each.reason}" for each in advice.blind)


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _table(differences: Sequence[Difference]) -> Iterator[str]:
    """Expected and found values, side by side."""
    if not differences:
        return
    rows = [("", "expected", "found"), *((each.what, each.expected, each.found) for each in differences)]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for what, expected, found in rows:
        yield f"{what:{widths[0]}}  {expected:{widths[1]}}  {found}".rstrip()
