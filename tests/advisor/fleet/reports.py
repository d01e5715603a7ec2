"""Reports on a fleet of the servers that were recorded: their real advice, under the names of a fleet."""

from __future__ import annotations

import functools
from collections import Counter

from advisor.contract.fleet import (
    FleetBlindSpot,
    FleetFinding,
    FleetReport,
    FleetServer,
    NotAsked,
    Source,
    Vanished,
)
from advisor.contract.recommendation import Advice, Recommendation
from advisor.fleet import report
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
    recordings = (REPOSITORY / "tests" / "captures").glob("*/*/recording.jsonl.gz")
    return tuple(sorted("/".join(recording.parent.parts[-2:]) for recording in recordings))


def finding(server: str, recommendation: Recommendation, source: Source = Source.MYSQLD_EXPORTER) -> FleetFinding:
    """A finding of a server; series hold no text of a verdict."""
    whole = report.finding_of(server, source, recommendation, scrape_interval_seconds=15.0)
    if source is not Source.VERDICT:
        return whole.model_copy(update={"notes": ("The number of rows is an estimate up to a day old.",)})
    page = f"http://advisor.{server.replace('/', '.')}:9747/#{recommendation.fingerprint}"
    without_texts = {"summary": "", "actions": (), "evidence": (), "effect": None}
    return whole.model_copy(update={**without_texts, "page_url": page})


def essence(finding: Recommendation | FleetFinding) -> tuple[object, ...]:
    """What a sidecar and the fleet must say alike."""
    effect = None if isinstance(finding, FleetFinding) else finding.effect
    saved = effect.read_bytes_saved_per_second if effect else getattr(finding, "read_bytes_saved_per_second", None)
    identity = finding.rule, finding.severity, dict(finding.subject), finding.fingerprint
    return *identity, finding.confidence, finding.changes, saved


def of(*captures: str, copies: int = 1, **others: object) -> FleetReport:
    """The report on servers that are as these captures, each so many times; every second one has a sidecar."""
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
            findings += [finding(name, recommendation, source) for recommendation in known.recommendations]
            blind.update((lack.rule, lack.lacks, lack.cure) for lack in known.blind)
    ranked = report.ranked(findings)
    values: dict[str, object] = {
        "at": AT,
        "window_seconds": 3600.0,
        "prometheus": "http://prometheus.monitoring:9090",
        "took_seconds": 12.3,
        "servers": servers,
        "findings": ranked,
        "rules": report.by_rule(ranked, {rule.id: rule for rule in rules()}),
        "top_servers": report.top_servers(ranked, len(servers)),
        "best": report.best(ranked),
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
