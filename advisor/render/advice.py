"""Advice, and one finding of it, as documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from advisor.contract.recommendation import Advice, Blind, Evidence, Recommendation, SetAside
from advisor.contract.templates import duration
from advisor.ledger.history import GradedAdvice, GradedRecommendation, GradedSetAside
from advisor.render import blocks, outcomes
from advisor.render.phrases import alternative, effect, instructions, moment, quantity

NOTHING = "Nothing to change in this window."
_OUTCOMES = 10
"""Outcomes beside advice; `history` shows the others."""
_TRENDS = {"worse": "getting worse", "steady": "steady", "better": "getting better"}


def advice(advice: Advice) -> blocks.TextDocument:
    """Every recommendation, the tables of what is set aside, failed or blind, and the newest outcomes where known."""
    shown: list[blocks.Block] = [blocks.Paragraph(_origin(advice), "quiet")]
    shown += [_card(recommendation) for recommendation in advice.recommendations] or [blocks.Paragraph(NOTHING)]
    for title, table in _tables(advice):
        shown += [blocks.Heading(title), table] if table.rows else []
    if isinstance(advice, GradedAdvice) and advice.outcomes:
        shown += [blocks.Heading("What became of changes"), *outcomes.cards(advice.outcomes[:_OUTCOMES], level=3)]
        more = len(advice.outcomes) - _OUTCOMES
        if more > 0:
            shown.append(blocks.Paragraph(f"and {more} older ones: `innodb-advisor history` has them", "quiet"))
    return blocks.TextDocument(f"innodb-advisor: {advice.server}", tuple(shown))


def finding(finding: Recommendation | SetAside) -> blocks.TextDocument:
    """One recommendation, with the reason where it is set aside, and what became of it before where that is known."""
    before = finding.outcomes if isinstance(finding, GradedRecommendation | GradedSetAside) else ()
    if isinstance(finding, SetAside):
        card = _card(finding.recommendation, blocks.Paragraph(f"Set aside: {finding.reason}"), level=1)
    else:
        card = _card(finding, level=1)
    return blocks.TextDocument("", (card, *outcomes.cards(before)))


def evidence_table(evidence: Sequence[Evidence]) -> blocks.TextTable:
    """What a finding rests on."""
    rows = tuple((fact.name.replace("_", " "), quantity(fact), fact.source) for fact in evidence)
    return blocks.TextTable(("evidence", "value", "source"), rows, right=(1,))


def _card(recommendation: Recommendation, *before: blocks.Block, level: int = 2) -> blocks.Card:
    return blocks.Card(
        recommendation.summary,
        (
            *before,
            blocks.Instructions(tuple(instructions(recommendation))),
            blocks.Details(tuple(details(recommendation))),
            evidence_table(recommendation.evidence),
        ),
        mark=recommendation.severity.value,
        tone=blocks.TONES[recommendation.severity],
        level=level,
    )


def details(recommendation: Recommendation) -> Iterator[tuple[str, str]]:
    """Effect, cost, alternatives and origin: label and text of each line."""
    effects = (("effect", recommendation.effect), ("cost", recommendation.cost), ("others", recommendation.others))
    yield from ((label, effect(predicted)) for label, predicted in effects if predicted is not None)
    yield from (("or", alternative(other)) for other in recommendation.alternatives)
    if recommendation.since is not None and recommendation.judged_at is not None:
        trend = f", {_TRENDS[recommendation.trend]}" if recommendation.trend else ""
        yield "since", f"{moment(recommendation.since)}{trend}; last seen {moment(recommendation.judged_at)}"
    watched = f"watched {duration(recommendation.watched_seconds)}"
    confidence = f"confidence {recommendation.confidence:g}"
    yield "rule", f"{recommendation.rule}, {confidence}, {watched}, {recommendation.fingerprint}"


def _origin(advice: Advice) -> str:
    """What the advice is of, how old it is, and when the next may come."""
    of = f"{advice.server}, watched {duration(advice.watched_seconds)}"
    if advice.age_seconds is None or advice.next_at is None:
        return of
    return f"{of}; made {duration(advice.age_seconds)} ago, anew at {moment(advice.next_at)} or later"


def _tables(advice: Advice) -> Iterator[tuple[str, blocks.TextTable]]:
    yield "Overruled by another recommendation", _set_aside(advice.overruled)
    yield "Suppressed by the configuration", _set_aside(advice.suppressed)
    failed = tuple((failure.rule, failure.reason) for failure in advice.failed)
    yield "Failed rules: their advice is unknown", blocks.TextTable(("rule", "reason"), failed)
    yield "Blind rules: data they need is missing", _blind(advice.blind)


def _set_aside(findings: Sequence[SetAside]) -> blocks.TextTable:
    rows = tuple(
        (aside.recommendation.rule, aside.recommendation.summary, aside.reason, aside.recommendation.fingerprint)
        for aside in findings
    )
    return blocks.TextTable(("rule", "summary", "reason", "fingerprint"), rows)


def _blind(spots: Sequence[Blind]) -> blocks.TextTable:
    """A row for each reason: one missing source may blind a dozen rules, in several ways each."""
    by_reason: dict[tuple[str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for spot in spots:
        lacks, rules = by_reason.setdefault((spot.reason, spot.cure or ""), ({}, {}))
        lacks[spot.lacks] = rules[spot.rule] = None
    rows = ((", ".join(lacks), ", ".join(rules), *reason) for reason, (lacks, rules) in by_reason.items())
    return blocks.TextTable(("lacks", "rules", "why", "cure"), tuple(rows))
