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
from advisor.fleet.client import LimitHit, PrometheusError
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.queries import Query
from advisor.fleet.reader import FleetReader
from advisor.fleet.series import Series
from advisor.fleet.shards import over, patiently
from advisor.rules.check import Rule

QUERIES = (
    Query(
        "verdict",
        "max by ($I, __name__, rule, severity, subject, setting) ({__name__=~"
        '"innodb_advisor_(recommendation|recommended_value|setting_value|confidence|suppressed'
        '|predicted_read_bytes_saved_per_second)",$S})',
        at_end=True,
    ),
    Query(
        "verdict-changes",
        "group by ($I, rule, subject, setting, from, value, fingerprint) (innodb_advisor_recommendation_info{$S})",
        at_end=True,
    ),
    Query(
        "verdict-pages",
        "group by ($I, rule, subject, fingerprint, url) (innodb_advisor_recommendation_page_info{$S})",
        at_end=True,
    ),
    Query(
        "verdict-blind",
        'max by ($I, __name__, rule) ({__name__=~"innodb_advisor_rule_(blind|failed)",$S}) > 0',
        at_end=True,
    ),
    Query(
        "verdict-beside",
        "max by ($I, __name__, name, collector, failure) "
        '({__name__=~"innodb_setting|innodb_exporter_collector_failure_info",name=~"|innodb_buffer_pool_size_max",$S})',
        at_end=True,
    ),
)
_PREFIX = "innodb_advisor_"
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
        told, said = [], dict[str, None]()
        for query in QUERIES:
            answer = await reader.answer(query, None if everyone else keys)
            told.append(reader.identity.grouped(answer))
            if answer.partial:
                said.update(dict.fromkeys(answer.warnings or (_PART,)))
        verdicts = {
            key: _verdict(servers[key], [series.get(key, ()) for series in told], rules, reader.grid.end)
            for key in keys
        }
        return {key: replace(verdict, incomplete="; ".join(said) or None) for key, verdict in verdicts.items()}

    if whole and servers:
        try:
            return await patiently(lambda: some(tuple(servers), everyone=True)), ()
        except LimitHit:
            pass  # shards are smaller
        except PrometheusError as error:
            return {}, (NotAsked(servers=tuple(key.name for key in servers), reason=str(error)),)
    return await over(servers, some)


@dataclass(frozen=True, slots=True)
class _Told:
    """The series of a server, by what they are about."""

    severities: Mapping[_Finding, Severity]
    settings: Mapping[_Finding, Sequence[str]]
    numbers: Mapping[tuple[str, str, str, str], float]
    """By metric without its prefix, rule, subject and setting."""
    words: Mapping[tuple[str, str, str], tuple[str, str]]
    """Before and after, by rule, subject and setting."""
    prints: Mapping[_Finding, str]
    urls: Mapping[_Finding, str]
    suppressed: int

    @classmethod
    def of(cls, found: Sequence[Series], changes: Sequence[Series], pages: Sequence[Series]) -> _Told:
        severities: dict[_Finding, Severity] = {}
        settings: dict[_Finding, list[str]] = {}
        numbers: dict[tuple[str, str, str, str], float] = {}
        suppressed = 0
        for series in found:
            labels, metric = series.labels, series.labels["__name__"].removeprefix(_PREFIX)
            one, setting = _finding(labels), labels.get("setting", "")
            if metric == "suppressed":
                suppressed += 1
            elif metric == "recommendation":
                severity = _severity(labels.get("severity"))
                severities[one] = max(severity, severities.get(one, severity), key=lambda each: each.rank)
                settings.setdefault(one, []).append(setting)
            else:
                numbers[metric, *one, setting] = series.value
        words = {(*_finding(each.labels), each.labels.get("setting", "")): _words(each.labels) for each in changes}
        # An address that a suppressed finding has too: fingerprints of the changes win.
        prints = {_finding(each.labels): each.labels.get("fingerprint", "") for each in (*pages, *changes)}
        urls = {_finding(each.labels): each.labels["url"] for each in pages if each.labels.get("url")}
        return cls(severities, settings, numbers, words, prints, urls, suppressed)


def _finding(labels: Mapping[str, str]) -> _Finding:
    return labels.get("rule", ""), labels.get("subject", "")


def _severity(word: str | None) -> Severity:
    return next((each for each in Severity if each.value == word), Severity.INFO)


def _words(labels: Mapping[str, str]) -> tuple[str, str]:
    return labels.get("from", ""), labels.get("value", "")


def _verdict(known: InventoryEntry, told: Sequence[Sequence[Series]], rules: Mapping[str, Rule], at: float) -> Verdict:
    found, changes, pages, blind, beside = told
    said = _Told.of(found, changes, pages)
    largest = next((each.value for each in beside if each.labels["__name__"] == "innodb_setting"), None)
    late = None if known.judged_at is None else at - known.judged_at
    aged = (f"its sidecar judged last {duration(late)} ago",) if late and late > _OLD_SECONDS else ()
    findings = tuple(_made(known, one, said, rules.get(one[0]), largest=largest, aged=aged) for one in said.severities)
    failures = {
        each.labels["collector"]: each.labels.get("failure", "") for each in beside if "collector" in each.labels
    }
    undecided = tuple(sorted({series.labels.get("rule", "") for series in blind}))
    lacks = tuple(lack for series in blind for lack in _lacks(series.labels, rules, failures))
    return Verdict(findings, undecided, lacks, said.suppressed, None)


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


def _made(
    known: InventoryEntry,
    one: _Finding,
    said: _Told,
    rule: Rule | None,
    *,
    largest: float | None,
    aged: tuple[str, ...],
) -> FleetFinding:
    id_, subject = one
    notes = list(aged)
    changes = [change for name in said.settings[one] if name for change in _change(known, said, one, name, largest)]
    order = [each.setting for each in rule.change] if rule else []
    changes.sort(key=lambda each: (order.index(each.setting) if each.setting in order else len(order), each.setting))
    if len(changes) < sum(map(bool, said.settings[one])):
        notes.append(_OLDER if known.server else "its version is not known, so its SQL is not either")
    if not any(said.settings[one]):
        notes.append(_ACTION)
    if len(changes) > 1 and not order:
        notes.append(_ORDER)
    mapping, printed = _subject(id_, subject, said.prints.get(one, ""))
    return FleetFinding(
        server=known.key.name,
        source=Source.VERDICT,
        rule=id_,
        severity=said.severities[one],
        subject=mapping,
        fingerprint=printed,
        confidence=said.numbers.get(("confidence", *one, "")),
        changes=tuple(changes),
        read_bytes_saved_per_second=said.numbers.get(("predicted_read_bytes_saved_per_second", *one, "")),
        notes=tuple(notes),
        page_url=said.urls.get(one),
    )


def _change(known: InventoryEntry, said: _Told, one: _Finding, setting: str, largest: float | None) -> Iterator[Change]:
    """The change of a setting, as the sidecar makes it; none where the series do not tell enough."""
    before, after = (
        word or said.numbers.get((metric, *one, setting))
        for word, metric in zip(
            said.words.get((*one, setting), ("", "")), ("setting_value", "recommended_value"), strict=True
        )
    )
    if known.server is not None and setting in SETTINGS and after is not None:
        if before is None and isinstance(after, str) and SETTINGS[setting].kind == "text":
            before = ""  # an empty label: innodb_flush_method of MySQL 5.6, where nobody set it
        found = change_on(known.server, setting, before, after)
        grows = setting == _POOL and largest and isinstance(after, float) and after > largest
        yield at_restart(found) if grows else found


def _subject(rule: str, subject: str, printed: str) -> tuple[Mapping[str, str], str]:
    """The subject and the fingerprint. Where no split of the text has the fingerprint, the text is its only value."""
    if not printed:
        return ({"subject": subject} if subject else {}), fingerprint(rule, {"subject": subject} if subject else {})
    parts = subject.split(".")
    for names in _SUBJECTS:
        for values in _splits(parts, len(names)) if subject else [()] if not names else []:
            found = dict(zip(names, values, strict=True))
            if fingerprint(rule, found) == printed:
                return found, printed
    return ({"subject": subject} if subject else {}), printed


def _splits(parts: Sequence[str], count: int) -> Iterator[tuple[str, ...]]:
    """The ways to read a text with dots as so many values."""
    for cuts in itertools.combinations(range(1, len(parts)), max(0, count - 1)):
        edges = (0, *cuts, len(parts))
        if count:
            yield tuple(".".join(parts[begin:end]) for begin, end in itertools.pairwise(edges))
