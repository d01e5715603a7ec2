"""Reports on a fleet of the servers that were recorded: their real advice, under the names of a fleet."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict

from advisor.contract.fleet import (
    FleetBlindSpot,
    FleetFinding,
    FleetReport,
    FleetServer,
    NotAsked,
    RuleSum,
    ServerSum,
    Source,
    Vanished,
)
from advisor.contract.recommendation import Advice, Recommendation
from advisor.rules import check
from tests.advisor.building import REPOSITORY, RULES_FOLDER, advised, captured

AT = 1_763_899_200.0
FEW = (
    "mysql-9.7/repeated-scan",
    "mysql-9.7/counted-without-index",
    "mysql-9.7/change-buffer-off",
    "mysql-5.6/write-pressure",
    "mariadb-11.8/idle",
    "mysql-9.7/hot-set-exceeds-pool",
)
"""Captures with findings on tables and on servers, with changes and with actions, and blind spots."""


@functools.cache
def rules() -> tuple[check.Rule, ...]:
    return tuple(check.load(RULES_FOLDER))


@functools.cache
def advice(capture: str) -> Advice:
    return advised(captured(capture), *rules())


def all_captures() -> tuple[str, ...]:
    found = (REPOSITORY / "tests" / "captures").glob("*/*/recording.jsonl.gz")
    return tuple(sorted("/".join(each.parent.parts[-2:]) for each in found))


def finding(server: str, found: Recommendation, source: Source = Source.MYSQLD_EXPORTER) -> FleetFinding:
    """A finding of a server; series hold no text of a verdict."""
    told = source is not Source.VERDICT
    return FleetFinding(
        server=server,
        source=source,
        rule=found.rule,
        severity=found.severity,
        subject=found.subject,
        fingerprint=found.fingerprint,
        summary=found.summary if told else "",
        confidence=found.confidence,
        changes=found.changes,
        actions=found.actions if told else (),
        evidence=found.evidence if told else (),
        effect=found.effect if told else None,
        read_bytes_saved_per_second=None if found.effect is None else found.effect.read_bytes_saved_per_second,
        scrape_interval_seconds=15.0,
        notes=("The number of rows is an estimate up to a day old.",) if told else (),
        page_url=None if told else f"http://advisor.{server.replace('/', '.')}:9747/#{found.fingerprint}",
    )


def _saved(findings: list[FleetFinding]) -> float | None:
    known = [each.read_bytes_saved_per_second for each in findings if each.read_bytes_saved_per_second is not None]
    return sum(known) if known else None


def of(*captures: str, copies: int = 1, **others: object) -> FleetReport:
    """The report on servers that are as these captures, each so many times; every second one has a sidecar."""
    titles = {each.id: each.file.title for each in rules()}
    servers: list[FleetServer] = []
    findings: list[FleetFinding] = []
    blind: Counter[tuple[str, str, str | None]] = Counter()
    for number in range(copies):
        for place, capture in enumerate(captures):
            name, source = f"eu/{capture}/{number}", (Source.MYSQLD_EXPORTER, Source.VERDICT)[place % 2]
            flavour, _, version = captured(capture).latest.server.__str__().partition(" ")
            identity = dict(zip(("cluster", "namespace", "service", "pod"), name.split("/"), strict=True))
            notes = ("incomplete answer: store 3 is away",) if number == place == 0 else ()
            server = FleetServer(name=name, identity=identity, source=source, flavour=flavour, version=version, up=True)
            servers.append(server.model_copy(update={"notes": notes}))
            known = advice(capture)
            findings += [finding(name, each, source) for each in known.recommendations]
            blind.update((each.rule, each.lacks, each.cure) for each in known.blind)
    findings.sort(key=lambda each: (-each.severity.rank, -(each.read_bytes_saved_per_second or 0)))
    by_rule, by_server = defaultdict(list), defaultdict(list)
    for each in findings:
        by_rule[each.rule].append(each)
        by_server[each.server].append(each)
    values: dict[str, object] = {
        "at": AT,
        "window_seconds": 3600.0,
        "prometheus": "http://prometheus.monitoring:9090",
        "took_seconds": 12.3,
        "servers": servers,
        "findings": findings,
        "rules": [
            RuleSum(
                rule=rule,
                title=titles[rule],
                severity=max((each.severity for each in found), key=lambda each: each.rank),
                findings=len(found),
                servers=len({each.server for each in found}),
                read_bytes_saved_per_second=_saved(found),
            )
            for rule, found in by_rule.items()
        ],
        "top_servers": [
            ServerSum(
                server=server,
                findings=len(found),
                worst=max((each.severity for each in found), key=lambda each: each.rank),
                read_bytes_saved_per_second=_saved(found),
            )
            for server, found in by_server.items()
        ],
        "best": max(findings, key=lambda each: each.read_bytes_saved_per_second or 0, default=None),
        "blind": [
            FleetBlindSpot(
                rule=rule,
                lacks=lacks,
                source=Source.MYSQLD_EXPORTER,
                servers=count,
                examples=(servers[0].name,),
                cure=cure,
            )
            for (rule, lacks, cure), count in blind.items()
        ],
    }
    return FleetReport.model_validate(values | others)


def with_gaps() -> FleetReport:
    """A report with every section there is."""
    return of(
        *FEW,
        suppressed=2,
        not_asked=(NotAsked(servers=("eu/a/b/c", "eu/a/b/d"), reason="HTTP 422: query would load too many samples"),),
        not_modelled=("eu/mysql-9.7/repeated-scan/0",),
        vanished=(Vanished(server="eu/gone/db/1", at=AT - 1800),),
        warnings=("1 store could not be reached",),
    )
