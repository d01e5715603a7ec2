"""The parts of a reading as one report: sums by rule, the servers with the most to gain, the best change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from advisor.contract.fleet import FleetFinding, RuleSum, ServerSum
from advisor.contract.recommendation import Severity
from advisor.rules.check import Rule

TOP = 20
"""Servers among the top."""


def ranked(findings: Iterable[FleetFinding]) -> tuple[FleetFinding, ...]:
    """The worst first, then by bytes saved."""
    return tuple(
        sorted(
            findings,
            key=lambda each: (
                -each.severity.rank,
                -(each.read_bytes_saved_per_second or 0.0),
                each.server,
                each.rule,
                each.fingerprint,
            ),
        )
    )


def counted(findings: Sequence[FleetFinding]) -> Sequence[FleetFinding]:
    """The findings whose bytes count: of two on one subject of a server, which may save the same reads, the larger.

    The recording rules count in the same way (charts/innodb-advisor/alerts/recording.rules.yaml).
    """
    largest: dict[tuple[str, str], FleetFinding] = {}
    for each in findings:
        saved = each.read_bytes_saved_per_second
        about = each.server, ".".join(each.subject.values())
        if saved is not None and saved > (_saved(largest[about]) if about in largest else float("-inf")):
            largest[about] = each
    return tuple(largest.values())


def by_rule(findings: Sequence[FleetFinding], rules: Mapping[str, Rule]) -> tuple[RuleSum, ...]:
    """A sum for each rule, the most bytes first."""
    saved = _sums((each.rule, _saved(each)) for each in counted(findings))
    groups = _grouped((each.rule, each) for each in findings)
    sums = (
        RuleSum(
            rule=rule,
            title=rules[rule].file.title if rule in rules else "",
            severity=_worst(group),
            findings=len(group),
            servers=len({each.server for each in group}),
            read_bytes_saved_per_second=saved.get(rule),
        )
        for rule, group in groups.items()
    )
    return tuple(
        sorted(
            sums,
            key=lambda each: (
                -(each.read_bytes_saved_per_second or 0.0),
                -each.severity.rank,
                -each.servers,
                each.rule,
            ),
        )
    )


def top_servers(findings: Sequence[FleetFinding], count: int = TOP) -> tuple[ServerSum, ...]:
    """The servers that would save the most bytes; those without any by their worst findings."""
    saved = _sums((each.server, _saved(each)) for each in counted(findings))
    sums = (
        ServerSum(
            server=server, findings=len(group), worst=_worst(group), read_bytes_saved_per_second=saved.get(server)
        )
        for server, group in _grouped((each.server, each) for each in findings).items()
    )
    return tuple(
        sorted(
            sums,
            key=lambda each: (
                -(each.read_bytes_saved_per_second or 0.0),
                -each.worst.rank,
                -each.findings,
                each.server,
            ),
        )[:count]
    )


def best(findings: Iterable[FleetFinding]) -> FleetFinding | None:
    """The finding that saves the most bytes; None where none is known to save any."""
    saving = [each for each in findings if _saved(each) > 0]
    return min(saving, key=lambda each: (-_saved(each), each.server, each.rule), default=None)


def _saved(found: FleetFinding) -> float:
    return found.read_bytes_saved_per_second or 0.0


def _worst(findings: Iterable[FleetFinding]) -> Severity:
    return max((each.severity for each in findings), key=lambda each: each.rank)


def _grouped(pairs: Iterable[tuple[str, FleetFinding]]) -> Mapping[str, list[FleetFinding]]:
    found: dict[str, list[FleetFinding]] = {}
    for name, each in pairs:
        found.setdefault(name, []).append(each)
    return found


def _sums(pairs: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for name, value in pairs:
        found[name] = found.get(name, 0.0) + value
    return found
