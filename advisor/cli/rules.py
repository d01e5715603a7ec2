"""innodb-advisor rules: which there are, what one says, and whether they do what their cases expect."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.cli.command import FINDINGS, Setup, Unusable, ending, rules_options

if TYPE_CHECKING:
    from advisor.casetest.cases import Difference
    from advisor.rules.check import Rule
    from advisor.rules.rulebook import Rulebook

_PAGE_WIDTH = 100
_NO_CAPTURES = (
    "the cases of the built-in rules replay captures that only the source tree has: "
    "name a directory of your own, or run this in a checkout"
)


@click.group(epilog=ending("rules list", "rules show scan-exceeds-old-sublist", "rules test ./my-rules"))
def rules() -> None:
    """List the rules, explain one, or test them, your own too."""


@rules.command("list", epilog=ending("rules list", "rules list --rules ./my-rules --json"))
@rules_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object a rule, in a list.")
def list_(*, setup: Setup, as_json: bool) -> None:
    """Say which rules there are."""
    book = setup.book
    if as_json:
        click.echo(json.dumps([_summary(book, each) for each in book.rules], indent=2, ensure_ascii=False))
        return
    from advisor.render import text  # noqa: PLC0415 - rich is only needed to show something to people

    table = text.plain_table("rule", "severity", "origin", "title")
    for each in book.rules:
        table.add_row(each.id, each.file.severity.value, book.origin(each.id), each.file.title)
    text.console().print(table)


@rules.command(
    epilog=ending("rules show scan-exceeds-old-sublist", "rules show my-rule --rules ./my-rules --format markdown")
)
@click.argument("rule_id", metavar="ID")
@rules_options
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "markdown", "yaml"]),
    default="text",
    show_default=True,
    help="yaml is the rule's own file.",
)
def show(*, rule_id: str, setup: Setup, style: str) -> None:
    """Explain a rule: when it fires, why, its evidence, how to fix it, and how that was proved."""
    from advisor.rules import page  # noqa: PLC0415 - each command imports what it needs

    book = setup.book
    found = _known(book.rules, rule_id)
    shown = page.markdown(found, book.origin(found.id))
    match style:
        case "json":
            whole = found.file.model_dump(mode="json", by_alias=True, exclude_none=True)
            click.echo(json.dumps(_summary(book, found) | whole, indent=2, ensure_ascii=False))
        case "markdown":
            click.echo(shown, nl=False)
        case "yaml":
            click.echo(found.path.read_text(encoding="utf-8"), nl=False)
        case _:
            from rich.markdown import Markdown  # noqa: PLC0415 - only for people

            from advisor.render import text  # noqa: PLC0415

            out = text.console()
            with out.capture() as captured:
                out.print(Markdown(shown), width=min(out.width, _PAGE_WIDTH))
            click.echo("\n".join(line.rstrip() for line in captured.get().strip("\n").splitlines()))


@rules.command(epilog=ending("rules test", "rules test ./my-rules", "rules test ./my-rules --rule my-rule -v"))
@click.argument("directory", metavar="[DIR]", type=click.Path(path_type=Path), required=False)
@rules_options
@click.option("--rule", "only", multiple=True, metavar="ID", help="Only this rule; may be repeated.")
@click.option("-v", "--verbose", is_flag=True, help="Say of every silent case why the rule was silent.")
def test(*, directory: Path | None, setup: Setup, only: Sequence[str], verbose: bool) -> None:
    """Replay the cases of the rules in DIR, and say where a rule does not do what its case expects.

    Without DIR these are the built-in rules, and those of --rules.
    """
    from advisor.files.yaml_file import FileError  # noqa: PLC0415
    from advisor.rules.rulebook import builtin_directory, own_rules  # noqa: PLC0415 - as above

    found = setup.book.rules if directory is None else own_rules(directory)
    if only:
        found = tuple(_known(found, each) for each in only)
    skipped: list[Rule] = []
    if not (builtin_directory().parent / "tests" / "captures").is_dir():
        skipped = [each for each in found if each.path.parent == builtin_directory()]
        found = tuple(each for each in found if each not in skipped)
    if not found:
        raise Unusable(_NO_CAPTURES if skipped else f"{directory}: there is no rule file here (<id>.yaml)")
    if skipped:
        click.echo(f"not tested: {_plural(len(skipped), 'rule')}; {_NO_CAPTURES}", err=True)
    tally: Counter[str] = Counter()
    unusable = []
    for each in found:
        try:
            tally += _tested(each, verbose=verbose)
        except FileError as error:
            unusable.append(str(error))
    if tally:
        click.echo(
            f"{_plural(sum(tally.values()), 'case')} of {_plural(len(found) - len(unusable), 'rule')}: "
            f"{tally[PASS]} passed, {tally[FAIL]} failed"
        )
    if unusable:
        raise Unusable("\n".join(unusable))
    if tally[FAIL]:
        sys.exit(FINDINGS)


PASS, FAIL = "PASS", "FAIL"


def _tested(rule: Rule, *, verbose: bool) -> Counter[str]:
    """Run the cases of a rule, say how each went, and count them."""
    from advisor.advice.evaluation import advice as advice_of  # noqa: PLC0415 - as above
    from advisor.casetest import cases  # noqa: PLC0415 - as above

    known = cases.load(rule)
    click.secho(rule.id, bold=True)
    tally: Counter[str] = Counter()
    for case in known:
        window = cases.window(case)
        trace = cases.trace(rule, window)
        advice = advice_of(trace, window)
        differences = cases.differences(case, advice)
        outcome = FAIL if differences else PASS
        tally[outcome] += 1
        click.echo(f"  {click.style(outcome, fg='red' if differences else 'green')}  {case.name}")
        silent = not (advice.recommendations or advice.blind or advice.failed)
        lines = [*_table(differences)]
        if silent and (differences or verbose):
            lines += ["it was silent because", *(f"  {reason}" for each in trace for reason in each.reasons)]
        elif differences:
            lines += [f"it is blind: it lacks {each.lacks}, {each.reason}" for each in advice.blind]
        for line in lines:
            click.echo(f"        {line}")
    return tally


def _plural(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _table(differences: Sequence[Difference]) -> Iterator[str]:
    """What was expected beside what was found."""
    if not differences:
        return
    rows = [("", "expected", "found"), *((each.what, each.expected, each.found) for each in differences)]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for what, expected, found in rows:
        yield f"{what:{widths[0]}}  {expected:{widths[1]}}  {found}".rstrip()


def _summary(book: Rulebook, rule: Rule) -> dict[str, object]:
    from advisor.rules import page  # noqa: PLC0415 - as above

    file = rule.file
    return {
        "id": rule.id,
        "title": file.title,
        "severity": file.severity.value,
        "origin": book.origin(rule.id),
        "servers": page.applies(rule),
        "file": str(rule.path),
    }


def _known(found: Sequence[Rule], rule_id: str) -> Rule:
    rule = next((each for each in found if each.id == rule_id), None)
    if rule is None:
        raise Unusable(f"there is no rule {rule_id}; there are {', '.join(each.id for each in found) or 'none'}")
    return rule
