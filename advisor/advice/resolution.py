"""A finding that is gone: since when, and because of what."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.advice.judgement import Assessment
from advisor.contract.recommendation import Blind, Failed, Severity
from advisor.ledger import words
from advisor.ledger.entry import RememberedFinding
from advisor.ledger.history import GoneFinding, newest, of_finding
from advisor.ledger.ledger import Ledger, rule_version
from exporter.collectors.status import STATUS


def gone(finding: RememberedFinding, ledger: Ledger, last: Assessment | None, problem: str = "") -> GoneFinding:
    """Since when a finding is gone, and why.

    Args:
        finding: One that stood earlier, and is not in the last advice.
        ledger: Has the outcomes of changes.
        last: The last assessment; None while the server cannot be seen.
        problem: Why it cannot be seen.
    """
    resolved_at = finding.resolved_at
    if resolved_at is None and last is not None and last.is_gone(finding):
        resolved_at = last.advice.at  # the ledger has still to take it
    now = _now(finding, last) if last is not None else (f"nothing is known of the server now: {problem}",)
    return GoneFinding(
        fingerprint=finding.fingerprint,
        rule=finding.rule,
        subject=finding.subject,
        severity=Severity(finding.severity),
        summary=finding.summary,
        first_seen=finding.first_seen,
        last_seen=ledger.last_seen(finding),
        resolved_at=resolved_at,
        because="; ".join((*_in_between(finding, ledger, resolved_at, last), *now)),
        outcomes=of_finding(ledger, finding.fingerprint),
    )


def _in_between(
    finding: RememberedFinding, ledger: Ledger, resolved_at: float | None, last: Assessment | None
) -> Iterator[str]:
    """What happened after it was last seen, and before it was gone."""
    until = float("inf") if resolved_at is None else resolved_at
    last_seen = ledger.last_seen(finding)
    outcomes = [outcome for outcome in newest(ledger.outcomes.values()) if last_seen <= outcome.at <= until]
    own = [outcome for outcome in outcomes if outcome.fingerprint == finding.fingerprint]
    if own:
        yield words.followed(own[0]) if own[0].followed else words.changed(own[0])
    else:
        yield from dict.fromkeys(map(words.changed, outcomes))
    status = None if last is None else last.snapshot[STATUS]
    if last is not None and status is not None and last.snapshot.at - status["uptime"] > last_seen:
        yield "the server restarted"
    rule = None if last is None else last.rule_set.rule(finding.rule)
    if rule is not None and finding.rule_version not in ("", rule_version(rule)):
        yield "its rule was changed"


def _now(finding: RememberedFinding, last: Assessment) -> Iterator[str]:
    """The verdict of its rule on its subject."""
    rule = last.rule_set.rule(finding.rule)
    if rule is None:
        yield f"there is no rule {finding.rule} any more"
        return
    evaluations = last.about(finding)
    if not evaluations:
        yield f"there is no {'.'.join(finding.subject.values())} among {rule.file.for_each} now"
    for evaluation in evaluations:
        match evaluation.verdict:
            case Blind(lacks=lacks, reason=reason):
                yield f"its rule is blind now: {lacks}: {reason}"
            case Failed(reason=reason):
                yield f"its rule fails now: {reason}"
            case None:
                yield from (f"now {' '.join(str(refusal).split())}" for refusal in evaluation.refusals)
