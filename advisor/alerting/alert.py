"""A finding as an alert of Alertmanager's API v2 (api/v2/openapi.yaml there)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from advisor.contract.fleet import FleetFinding
from advisor.contract.links import Links
from advisor.contract.recommendation import Evidence, Recommendation, about
from advisor.contract.visible import uncalled, visible, visible_lines
from advisor.ledger import words
from advisor.ledger.entry import Outcome
from advisor.render import advice, phrases
from advisor.render.blocks import STATEMENTS

NAME = "InnoDBAdvice"
OWN_LABELS = frozenset({"alertname", "rule", "severity", "instance", "subject"})
"""Labels that users cannot add."""
LONGEST = 16_000
"""Characters of a description at most: a proxy before Alertmanager may limit a request to a megabyte."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert; its labels are its identity.

    Attributes:
        starts_at: Unix seconds.
        ends_at: When it expires unless it is sent again, or when it was resolved; Unix seconds.
        generator_url: A page that shows the finding.
    """

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts_at: float
    ends_at: float
    generator_url: str

    @property
    def key(self) -> frozenset[tuple[str, str]]:
        """Its identity."""
        return frozenset(self.labels.items())

    def body(self) -> dict[str, Any]:
        """The alert as JSON."""
        return {
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "startsAt": _time(self.starts_at),
            "endsAt": _time(self.ends_at),
            "generatorURL": self.generator_url,
        }


def labels_of(finding: Recommendation | FleetFinding, added: Mapping[str, str]) -> dict[str, str]:
    """The labels of a finding, as Prometheus' alert of it has them (charts/innodb-advisor/alerts).

    They stay the same while it holds, contain no number, and do not name the settings that it would change.

    Args:
        finding: Of a server, or of one of a fleet.
        added: Labels of all alerts, ``instance`` among them.
    """
    own = {
        "alertname": NAME,
        "rule": finding.rule,
        "severity": finding.severity.value,
        "subject": about(finding.subject),
    }
    known = {**added, **own}
    # For Alertmanager an empty label is a missing one.
    return {name: valid(value) for name, value in known.items() if value}


def annotations_of(finding: Recommendation, why: str, links: Links) -> dict[str, str]:
    """The annotations of a finding, which may change while it holds."""
    return {
        "summary": one_line(finding.summary),
        "description": description((*phrases.instructions(finding), *advice.details(finding)), finding.evidence, why),
        "confidence": f"{finding.confidence:g}",
        "fingerprint": finding.fingerprint,
        "page_url": links.finding(finding.fingerprint),
        "runbook_url": links.rule(finding.rule),
    }


def with_outcome(annotations: Mapping[str, str], outcome: Outcome) -> dict[str, str]:
    """The annotations of a finding that was followed, with what became of it."""
    text = one_line(words.followed(outcome))
    return {**annotations, "outcome": text, "description": _shortened(f"outcome: {text}\n{annotations['description']}")}


def description(lines: Iterable[tuple[str, str]], evidence: Iterable[Evidence], why: str) -> str:
    """A description: what to do and to expect, by label; what it rests on; why."""
    text = [f"{label}: {_line(label, line)}" for label, line in lines]
    items = [
        one_line(f"- {item.name.replace('_', ' ')}: {phrases.quantity(item)} ({item.source})") for item in evidence
    ]
    if items:
        text += ["", "evidence:", *items]
    if why:
        text += ["", uncalled(visible_lines(why.strip()))]
    return _shortened("\n".join(text))


def _shortened(text: str) -> str:
    """A description that Alertmanager takes."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def one_line(text: str) -> str:
    """One line of an annotation: Alertmanager's templates for chats pass it on as it is."""
    return uncalled(visible(text))


def _line(label: str, line: str) -> str:
    """A line, whose statement is pasted as it is or not at all."""
    if label not in STATEMENTS:
        return one_line(line)
    safe = uncalled(line)
    return line if safe == line else phrases.not_shown(safe)


def valid(value: str) -> str:
    """Valid UTF-8: the name of a table may contain other characters."""
    return value.encode("utf-8", "replace").decode()


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
