"""The report of a reading: findings server by server, in sums by rule, and the best change."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.contract.fleet import FleetBlindSpot, FleetFinding, NotAsked, RuleSum, ServerSum, Source
from advisor.contract.recommendation import Recommendation, Severity
from advisor.fleet.shards import LeftOut
from advisor.rules.check import Rule

TOP = 20
"""Servers among the top."""
EXAMPLES = 3
"""Servers that a blind spot names."""

Lack = tuple[str, str, str | None]
"""A rule that could not be judged, what it lacks, and a cure where there is one."""


def finding_of(
    server: str,
    source: Source,
    recommendation: Recommendation,
    *,
    scrape_interval_seconds: float | None = None,
    notes: tuple[str, ...] = (),
) -> FleetFinding:
    """A recommendation as a finding about one of many servers."""
    effect = recommendation.effect
    return FleetFinding(
        server=server,
        source=source,
        rule=recommendation.rule,
        severity=recommendation.severity,
        subject=recommendation.subject,
        fingerprint=recommendation.fingerprint,
        summary=recommendation.summary,
        confidence=recommendation.confidence,
        changes=recommendation.changes,
        actions=recommendation.actions,
        evidence=recommendation.evidence,
        effect=effect,
        read_bytes_saved_per_second=effect.read_bytes_saved_per_second if effect else None,
        scrape_interval_seconds=scrape_interval_seconds,
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class ServerFindings:
    """The findings about a server, and the rules that could not be judged on it.

    Attributes:
        findings: In any order.
        lacks: Of the rules that could not be judged.
        undecided: All rules that could not be judged.
        suppressed: How many findings are not wanted.
        notes: What to know of all that.
    """

    findings: tuple[FleetFinding, ...] = ()
    lacks: tuple[Lack, ...] = ()
    undecided: tuple[str, ...] = ()
    suppressed: int = 0
    notes: tuple[str, ...] = ()


class FleetFindings:
    """The findings of a reading so far.

    Attributes:
        servers: By name, what was found, without the lacks.
        not_modelled: Servers that the models' budget left out.
    """

    def __init__(self) -> None:
        """No server is judged yet."""
        self.servers: dict[str, ServerFindings] = {}
        self.not_modelled: tuple[str, ...] = ()
        self._left: defaultdict[str, list[str]] = defaultdict(list)
        # Lacks are counted: thousands of servers lack the same.
        self._lacking: Counter[tuple[Lack, Source]] = Counter()
        self._examples: defaultdict[tuple[Lack, Source], list[str]] = defaultdict(list)

    def take(self, server: str, source: Source, findings: ServerFindings) -> None:
        """A server is judged."""
        self.servers[server] = replace(findings, lacks=())
        for lack in findings.lacks:
            self._lacking[lack, source] += 1
            if len(examples := self._examples[lack, source]) < EXAMPLES:
                examples.append(server)

    def leave(self, left_out: LeftOut) -> None:
        """These servers have no findings, for these reasons."""
        for reason, servers in left_out.items():
            self._left[reason] += servers

    @property
    def not_asked(self) -> tuple[NotAsked, ...]:
        """The servers of which nothing is said, by reason."""
        return not_asked(self._left)

    @property
    def blind_spots(self) -> tuple[FleetBlindSpot, ...]:
        """One for each lack, the most servers first."""
        spots = sorted(self._lacking.items(), key=lambda item: (-item[1], *item[0][0][:2], item[0][1]))
        return tuple(
            FleetBlindSpot(
                rule=rule,
                lacks=lacks,
                source=source,
                servers=servers,
                examples=tuple(self._examples[(rule, lacks, cure), source]),
                cure=cure,
            )
            for ((rule, lacks, cure), source), servers in spots
        )


def not_asked(left_out: LeftOut) -> tuple[NotAsked, ...]:
    """Servers that nothing is said of, by reason."""
    return tuple(NotAsked(servers=tuple(sorted(names)), reason=reason) for reason, names in left_out.items())


def ranked(findings: Iterable[FleetFinding]) -> tuple[FleetFinding, ...]:
    """The worst first, then by bytes saved."""
    return tuple(
        sorted(
            findings,
            key=lambda finding: (
                -finding.severity.rank,
                -_saved(finding),
                finding.server,
                finding.rule,
                finding.fingerprint,
            ),
        )
    )


def by_rule(findings: Sequence[FleetFinding], rules: Mapping[str, Rule]) -> tuple[RuleSum, ...]:
    """A sum for each rule, the most bytes first."""
    saved = _sums((finding.rule, _saved(finding)) for finding in _counted(findings))
    sums = (
        RuleSum(
            rule=rule,
            title=rules[rule].file.title if rule in rules else "",
            severity=_worst(group),
            findings=len(group),
            servers=len({finding.server for finding in group}),
            read_bytes_saved_per_second=saved.get(rule),
        )
        for rule, group in _grouped((finding.rule, finding) for finding in findings).items()
    )
    return tuple(
        sorted(
            sums,
            key=lambda total: (-_saved(total), -total.severity.rank, -total.servers, total.rule),
        )
    )


def top_servers(findings: Sequence[FleetFinding], count: int = TOP) -> tuple[ServerSum, ...]:
    """The servers that would save the most bytes; those without any by their worst findings."""
    saved = _sums((finding.server, _saved(finding)) for finding in _counted(findings))
    sums = (
        ServerSum(
            server=server, findings=len(group), worst=_worst(group), read_bytes_saved_per_second=saved.get(server)
        )
        for server, group in _grouped((finding.server, finding) for finding in findings).items()
    )
    return tuple(
        sorted(
            sums,
            key=lambda total: (-_saved(total), -total.worst.rank, -total.findings, total.server),
        )[:count]
    )


def best(findings: Iterable[FleetFinding]) -> FleetFinding | None:
    """The finding that saves the most bytes; None where none is known to save any."""
    saving = [finding for finding in findings if _saved(finding) > 0]
    return min(saving, key=lambda finding: (-_saved(finding), finding.server, finding.rule), default=None)


def _counted(findings: Sequence[FleetFinding]) -> Iterable[FleetFinding]:
    """The findings whose bytes count: of two on one subject of a server, which may save the same reads, the larger.

    The recording rules count in the same way (charts/innodb-advisor/alerts/recording.rules.yaml).
    """
    largest: dict[tuple[str, str], FleetFinding] = {}
    for finding in findings:
        about = finding.server, ".".join(finding.subject.values())
        if finding.read_bytes_saved_per_second is not None and (
            about not in largest or _saved(finding) > _saved(largest[about])
        ):
            largest[about] = finding
    return largest.values()


def _saved(finding: FleetFinding | RuleSum | ServerSum) -> float:
    return finding.read_bytes_saved_per_second or 0.0


def _worst(findings: Iterable[FleetFinding]) -> Severity:
    return max((finding.severity for finding in findings), key=lambda severity: severity.rank)


def _grouped(pairs: Iterable[tuple[str, FleetFinding]]) -> Mapping[str, list[FleetFinding]]:
    groups: dict[str, list[FleetFinding]] = {}
    for name, finding in pairs:
        groups.setdefault(name, []).append(finding)
    return groups


def _sums(pairs: Iterable[tuple[str, float]]) -> Mapping[str, float]:
    sums: dict[str, float] = {}
    for name, value in pairs:
        sums[name] = sums.get(name, 0.0) + value
    return sums
