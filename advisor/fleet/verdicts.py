"""What sidecars found themselves, from their series. It is never worked out again.

SQL is made here from setting, value and version, by the same function as the sidecar's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.contract.changes import at_restart, change_on
from advisor.contract.fleet import FleetFinding, NotAsked, Source
from advisor.contract.recommendation import Change, Severity, fingerprint
from advisor.contract.settings import SETTINGS
from advisor.contract.templates import duration
from advisor.fleet.client import LimitHit, QueryError
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import FleetReader
from advisor.fleet.series import QuerySeries
from advisor.fleet.shards import over, patiently
from advisor.rules.check import Rule

QUERIES = (
    FleetQuery(
        "verdict",
        "max by ($I, __name__, rule, severity, subject, setting) ({__name__=~"
        '"innodb_advisor_(recommendation|recommended_value|setting_value|confidence|suppressed'
        '|predicted_read_bytes_saved_per_second)",$S})',
        at_end=True,
    ),
    FleetQuery(
        "verdict-changes",
        "group by ($I, rule, subject, setting, from, value, fingerprint) (innodb_advisor_recommendation_info{$S})",
        at_end=True,
    ),
    FleetQuery(
        "verdict-pages",
        "group by ($I, rule, subject, fingerprint, url) (innodb_advisor_recommendation_page_info{$S})",
        at_end=True,
    ),
    FleetQuery(
        "verdict-blind",
        'max by ($I, __name__, rule) ({__name__=~"innodb_advisor_rule_(blind|failed)",$S}) > 0',
        at_end=True,
    ),
    FleetQuery(
        "verdict-beside",
        "max by ($I, __name__, name, collector, failure) "
        '({__name__=~"innodb_setting|innodb_exporter_collector_failure_info",name=~"|innodb_buffer_pool_size_max",$S})',
        at_end=True,
    ),
)
_PREFIX = "innodb_advisor_"
_RECOMMENDATION, _SUPPRESSED = f"{_PREFIX}recommendation", f"{_PREFIX}suppressed"
_POOL = "innodb_buffer_pool_size"
_OLD_SECONDS = 900.0
"""A sidecar judges each minute; rules that need minutes for a model are behind by a few of them."""
_SUBJECTS = ((), ("schema", "table"), ("setting",), ("cure",), ("schema", "table", "index"))
"""The keys of a subject, whose values a series joins with dots. The fingerprint tells which are meant."""
_OLDER = "its sidecar is of an older version, which does not tell the advised value: its page does"
_ORDER = "a rule that is not known here: the order of its changes may be another one on the sidecar's page"
_FAILED = "an error in the rule, which the sidecar's log has"
_NOT_TOLD = "what its sidecar's /advise says"
_PART = "a part of the data did not answer"
_ACTION = "what to do is no setting: its sidecar's page says it"
_CURES = {
    "privilege": "the GRANT that `innodb-advisor check` names on the server",
    "disabled": "the setting that `innodb-advisor check` names on the server",
    "deadline": "a longer --statement-timeout of the sidecar",
}

_Finding = tuple[str, str]
"""Rule, and subject as series have it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the sidecar of a server says.

    Attributes:
        findings: What it recommends.
        undecided: Rules that it could not judge.
        blind: The same with what each lacked, and a cure where there is one.
        suppressed: How many findings its configuration suppresses.
        incomplete: Why there may be more; None where there is no more.
    """

    findings: tuple[FleetFinding, ...]
    undecided: tuple[str, ...]
    blind: tuple[tuple[str, str, str | None], ...]
    suppressed: int
    incomplete: str | None


async def verdicts(
    reader: FleetReader, servers: Mapping[ServerKey, InventoryEntry], rules: Mapping[str, Rule], *, whole: bool = True
) -> tuple[Mapping[ServerKey, Verdict], tuple[NotAsked, ...]]:
    """Ask for the verdicts of all sidecars: five queries, or five a shard where a limit is hit.

    Args:
        reader: Asks at the end of its grid.
        servers: Those that have a sidecar.
        rules: By id; they tell what a blind rule lacks, and the order of changes.
        whole: Whether these are all servers that the selector finds.

    Returns:
        A verdict of each server, and who was not asked.
    """

    async def some(keys: Sequence[ServerKey], *, everyone: bool = False) -> Mapping[ServerKey, Verdict]:
        answers, warnings = [], dict[str, None]()
        for query in QUERIES:
            answer = await reader.answer(query, None if everyone else keys)
            answers.append(reader.identity.grouped(answer))
            if answer.partial:
                warnings.update(dict.fromkeys(answer.warnings or (_PART,)))
        verdicts = {
            key: _verdict(servers[key], [series.get(key, ()) for series in answers], rules, reader.grid.end)
            for key in keys
        }
        return {key: replace(verdict, incomplete="; ".join(warnings) or None) for key, verdict in verdicts.items()}

    if whole and servers:
        try:
            return await patiently(lambda: some(tuple(servers), everyone=True)), ()
        except LimitHit:
            pass  # shards are smaller
        except QueryError as error:
            return {}, (NotAsked(servers=tuple(key.name for key in servers), reason=str(error)),)
    return await over(servers, some)


@dataclass(frozen=True, slots=True)
class _SidecarSeries:
    """The series of a sidecar, by the finding that they are about.

    Attributes:
        severities: Of each finding that is not suppressed.
        numbers: By metric without its prefix, finding and setting.
        words: Before and after, by finding and setting.
        prints: Fingerprints.
        urls: Of the finding on the sidecar's page.
    """

    severities: Mapping[_Finding, Severity]
    numbers: Mapping[tuple[str, _Finding, str], float]
    words: Mapping[tuple[_Finding, str], tuple[str, str]]
    prints: Mapping[_Finding, str]
    urls: Mapping[_Finding, str]

    @classmethod
    def of(
        cls, findings: Sequence[QuerySeries], changes: Sequence[QuerySeries], pages: Sequence[QuerySeries]
    ) -> _SidecarSeries:
        severities: dict[_Finding, Severity] = {}
        for labels in (series.labels for series in findings if series.labels["__name__"] == _RECOMMENDATION):
            severity = next((each for each in Severity if each.value == labels.get("severity")), Severity.INFO)
            known = severities.setdefault(_finding(labels), severity)
            severities[_finding(labels)] = max(severity, known, key=lambda each: each.rank)
        return cls(
            severities,
            {
                (
                    each.labels["__name__"].removeprefix(_PREFIX),
                    _finding(each.labels),
                    _setting(each.labels),
                ): each.value
                for each in findings
            },
            {
                (_finding(each.labels), _setting(each.labels)): (
                    each.labels.get("from", ""),
                    each.labels.get("value", ""),
                )
                for each in changes
            },
            # A suppressed finding may have an address, too: fingerprints of the changes win.
            {_finding(each.labels): each.labels.get("fingerprint", "") for each in (*pages, *changes)},
            {_finding(each.labels): each.labels["url"] for each in pages if each.labels.get("url")},
        )

    def number(self, metric: str, finding: _Finding, setting: str = "") -> float | None:
        """A number of a finding."""
        return self.numbers.get((metric, finding, setting))

    def settings(self, finding: _Finding) -> list[str]:
        """The settings that a finding wants to change."""
        return [s for metric, of, s in self.numbers if metric == "recommendation" and of == finding and s]


def _finding(labels: Mapping[str, str]) -> _Finding:
    return labels.get("rule", ""), labels.get("subject", "")


def _setting(labels: Mapping[str, str]) -> str:
    return labels.get("setting", "")


def _verdict(
    entry: InventoryEntry, answers: Sequence[Sequence[QuerySeries]], rules: Mapping[str, Rule], at: float
) -> Verdict:
    """The verdict of a sidecar, from its series in the answers to QUERIES."""
    findings, changes, pages, blind, beside = answers
    of_sidecar = _SidecarSeries.of(findings, changes, pages)
    largest = next((series.value for series in beside if series.labels["__name__"] == "innodb_setting"), None)
    failures = {
        series.labels["collector"]: series.labels.get("failure", "")
        for series in beside
        if "collector" in series.labels
    }
    late = None if entry.judged_at is None else at - entry.judged_at
    aged = (f"its sidecar judged last {duration(late)} ago",) if late and late > _OLD_SECONDS else ()
    return Verdict(
        findings=tuple(
            _fleet_finding(entry, finding, of_sidecar, rules.get(finding[0]), largest=largest, aged=aged)
            for finding in of_sidecar.severities
        ),
        undecided=tuple(sorted({series.labels.get("rule", "") for series in blind})),
        blind=tuple(lack for series in blind for lack in _lacks(series.labels, rules, failures)),
        suppressed=sum(series.labels["__name__"] == _SUPPRESSED for series in findings),
        incomplete=None,
    )


def _lacks(
    labels: Mapping[str, str], rules: Mapping[str, Rule], failures: Mapping[str, str]
) -> Iterator[tuple[str, str, str | None]]:
    """What a blind or failed rule lacked, each with a cure where there is one."""
    id_ = labels.get("rule", "")
    if labels["__name__"].endswith("_failed"):
        yield id_, _FAILED, None
        return
    needed = [name for name in (rules[id_].file.needs if id_ in rules else ()) if name in failures]
    for name in needed:
        yield id_, f"{name} ({failures[name]})", _CURES.get(failures[name])
    if not needed:
        yield id_, _NOT_TOLD, None


def _fleet_finding(
    entry: InventoryEntry,
    finding: _Finding,
    series: _SidecarSeries,
    rule: Rule | None,
    *,
    largest: float | None,
    aged: tuple[str, ...],
) -> FleetFinding:
    """A finding of a sidecar.

    Args:
        entry: The server.
        finding: Rule and subject.
        series: Of the sidecar.
        rule: Where it is known here; it tells the order of changes.
        largest: innodb_buffer_pool_size_max; None where not known.
        aged: A note that the verdict is old.
    """
    settings = series.settings(finding)
    changes = [change for setting in settings for change in _change(entry, series, finding, setting, largest)]
    order = [change.setting for change in rule.file.change] if rule else []
    changes.sort(key=lambda each: (order.index(each.setting) if each.setting in order else len(order), each.setting))
    notes = list(aged)
    if len(changes) < len(settings):
        notes.append(_OLDER if entry.server else "its version is not known, so its SQL is not either")
    if not settings:
        notes.append(_ACTION)
    if len(changes) > 1 and not order:
        notes.append(_ORDER)
    subject, printed = _subject(*finding, series.prints.get(finding, ""))
    return FleetFinding(
        server=entry.key.name,
        source=Source.VERDICT,
        rule=finding[0],
        severity=series.severities[finding],
        subject=subject,
        fingerprint=printed,
        confidence=series.number("confidence", finding),
        changes=tuple(changes),
        read_bytes_saved_per_second=series.number("predicted_read_bytes_saved_per_second", finding),
        notes=tuple(notes),
        page_url=series.urls.get(finding),
    )


def _change(
    entry: InventoryEntry, series: _SidecarSeries, finding: _Finding, setting: str, largest: float | None
) -> Iterator[Change]:
    """The change of a setting, as the sidecar makes it; none where the series do not tell enough."""
    from_word, to_word = series.words.get((finding, setting), ("", ""))
    before = from_word or series.number("setting_value", finding, setting)
    after = to_word or series.number("recommended_value", finding, setting)
    if entry.server is None or setting not in SETTINGS or after is None:
        return
    if before is None and isinstance(after, str) and SETTINGS[setting].kind == "text":
        before = ""  # an empty label: innodb_flush_method of MySQL 5.6, where nobody set it
    change = change_on(entry.server, setting, before, after)
    grows = setting == _POOL and largest and isinstance(after, float) and after > largest
    yield at_restart(change) if grows else change


def _subject(rule: str, subject: str, printed: str) -> tuple[Mapping[str, str], str]:
    """The subject and the fingerprint. Where no split of the text has the fingerprint, the text is its only value."""
    whole = {"subject": subject} if subject else {}
    if not printed:
        return whole, fingerprint(rule, whole)
    parts = subject.split(".")
    for names in _SUBJECTS:
        for values in _splits(parts, len(names)) if subject else [()] if not names else []:
            split = dict(zip(names, values, strict=True))
            if fingerprint(rule, split) == printed:
                return split, printed
    return whole, printed


def _splits(parts: Sequence[str], count: int) -> Iterator[tuple[str, ...]]:
    """The ways to read a text with dots as so many values."""
    for cuts in itertools.combinations(range(1, len(parts)), max(0, count - 1)):
        edges = (0, *cuts, len(parts))
        if count:
            yield tuple(".".join(parts[begin:end]) for begin, end in itertools.pairwise(edges))
