"""The history for people: on a terminal, and as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, Group
from rich.padding import Padding

from advisor.ledger.entry import Outcome, Result
from advisor.ledger.history import GoneFinding, GradedAdvice, GradedRecommendation, GradedSetAside, History
from advisor.render import outcomes as phrases
from advisor.render import text
from advisor.render.terminal import in_file, labelled, words

_STYLE = {Result.KEPT: "green", Result.MISSED: "yellow", Result.OPEN: "cyan"}


def print_history(out: Console, history: History) -> None:
    """Every outcome, the newest first, and the findings that stood."""
    print_outcomes(out, history.outcomes)
    if not history.outcomes:
        out.print(phrases.NOTHING)
    for line in phrases.left_out(history):
        out.print(words(line, "dim"))
    if history.findings:
        out.print(f"\n{phrases.FINDINGS}:")
    for found in history.findings:
        rule, of, first, last, asked, fingerprint = phrases.finding(found)
        out.print(words(", ".join(each for each in (rule, of, fingerprint) if each)))
        lines = (("seen", f"{first} to {last}"), ("asked for", asked))
        out.print(labelled(((f"  {label}".ljust(14), text) for label, text in lines if text), ""))


def print_advice(out: Console, advice: GradedAdvice) -> None:
    """Advice, and the newest outcomes of changes before."""
    text.print_advice(out, advice)
    if advice.outcomes:
        out.print(f"\n{phrases.OUTCOMES}:")
        print_outcomes(out, advice.outcomes[: phrases.BESIDE_ADVICE])
        for line in phrases.older(advice):
            out.print(words(line, "dim"))


def print_outcomes(out: Console, outcomes: Sequence[Outcome]) -> None:
    """Every outcome, with an empty line between two."""
    for number, outcome in enumerate(outcomes):
        if number:
            out.print()
        out.print(_outcome(outcome))


def plain(history: History) -> str:
    """The output of ``print_history`` in a file."""
    return in_file(lambda out: print_history(out, history))


def plain_finding(found: GradedRecommendation | GradedSetAside) -> str:
    """One recommendation, and what became of it before."""
    before = in_file(lambda out: print_outcomes(out, found.outcomes))
    return f"{text.plain_finding(found)}\n{before}" if before else text.plain_finding(found)


def plain_gone(found: GoneFinding) -> str:
    """A finding that is gone, and what became of it before."""

    def show(out: Console) -> None:
        out.print(words(f"{phrases.gone(found).upper()}  {found.summary}", "bold"))
        out.print(Padding(labelled(phrases.gone_details(found)), (0, 0, 0, 2), expand=False))
        if found.outcomes:
            out.print()
            print_outcomes(out, found.outcomes)

    return in_file(show)


def _outcome(outcome: Outcome) -> Group:
    style = "bold red" if outcome.harm else _STYLE.get(outcome.result, "bold")
    told = labelled(phrases.details(outcome))
    return Group(words(phrases.head(outcome), style), Padding(told, (0, 0, 0, 2), expand=False))
