"""The history in markdown, for a ticket or a chat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from advisor.ledger.entry import Outcome
from advisor.ledger.history import GoneFinding, GradedAdvice, GradedRecommendation, GradedSetAside, History
from advisor.render import markdown
from advisor.render import outcomes as phrases
from advisor.render.markdown import inline, row


def history(found: History) -> str:
    """Every outcome, the newest first, and a table of the findings that stood."""
    lines = ["# innodb-advisor: what became of changes", "", *outcomes(found.outcomes)]
    if not found.outcomes:
        lines += [phrases.NOTHING, ""]
    lines += [line for each in phrases.left_out(found) for line in (f"{each}.", "")]
    if found.findings:
        columns = phrases.FINDING_COLUMNS
        lines += [f"## {phrases.FINDINGS}", "", row(columns), row(["---"] * len(columns))]
        lines += [*map(row, map(phrases.finding, found.findings)), ""]
    return "\n".join(lines)


def advice(found: GradedAdvice) -> str:
    """Advice, and the newest outcomes of changes before."""
    lines = [markdown.markdown(found)]
    if found.outcomes:
        lines += [f"# {phrases.OUTCOMES}", "", *outcomes(found.outcomes[: phrases.BESIDE_ADVICE])]
        lines += [line for each in phrases.older(found) for line in (f"{each}.", "")]
    return "\n".join(lines)


def finding(found: GradedRecommendation | GradedSetAside) -> str:
    """One recommendation, and what became of it before."""
    return "\n".join([markdown.markdown_finding(found), *outcomes(found.outcomes)])


def gone(found: GoneFinding) -> str:
    """A finding that is gone, and what became of it before."""
    lines = [f"# {phrases.gone(found)}: {inline(found.summary)}", ""]
    lines += [f"- {label}: {inline(text)}" for label, text in phrases.gone_details(found)]
    return "\n".join([*lines, "", *outcomes(found.outcomes)])


def outcomes(found: Sequence[Outcome]) -> Iterable[str]:
    """The lines of outcomes."""
    for each in found:
        yield from (f"## {inline(phrases.head(each))}", "")
        yield from (f"- {label}: {inline(text)}" for label, text in phrases.details(each))
        yield ""
