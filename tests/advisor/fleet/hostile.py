"""A fleet whose every text is hostile."""

from __future__ import annotations

import functools

from advisor.contract.fleet import (
    Capacity,
    CapacityEstimate,
    FleetBlindSpot,
    FleetReport,
    FleetServer,
    NotAsked,
    RuleSum,
    ServerSum,
    Source,
    Vanished,
)
from advisor.contract.recommendation import Action, Change, Evidence, Severity
from tests.advisor.fleet import reports
from tests.hostile_names import NAMES


@functools.cache
def report() -> FleetReport:
    """A report with every section, whose every text from series is one of the names."""
    [recommendation, *_] = reports.advice("mysql-9.7/repeated-scan").recommendations
    plain = reports.finding("", recommendation)
    findings = [
        plain.model_copy(
            update={
                "server": f"{name} {number}",
                "rule": name,
                "subject": {"schema": name, name: name},
                "fingerprint": name,
                "summary": name if number % 2 else "",
                "changes": (_change(name),),
                "actions": (Action(do=name, apply=(f"CREATE INDEX `{name}` ON t (a)",), rollback=()),),
                "evidence": (Evidence(name=name, value=name, unit=name, source=name),),
                "effect": recommendation.effect and recommendation.effect.model_copy(update={"quantity": name}),
                "notes": (name,),
                "page_url": f"javascript:{name}" if number % 2 else f"https://{name}/",
            }
        )
        for number, name in enumerate(NAMES)
    ]
    servers = [
        FleetServer(
            name=finding.server, identity={}, source=Source.MYSQLD_EXPORTER, flavour=name, version=name, notes=(name,)
        )
        for finding, name in zip(findings, NAMES, strict=True)
    ]
    estimate = {"pool_bytes": 2**30, "enough_bytes": 2**29, "may_go_bytes": 2**29, "reads_now": 1.0}
    return FleetReport(
        at=reports.AT,
        window_seconds=3600,
        prometheus=f"http://{NAMES[0]}",
        shard=NAMES[1],
        took_seconds=1,
        servers=tuple(servers),
        findings=tuple(findings),
        rules=tuple(RuleSum(rule=name, title=name, severity=Severity.INFO, findings=1, servers=1) for name in NAMES),
        top_servers=tuple(ServerSum(server=name, findings=1, worst=Severity.INFO) for name in NAMES),
        best=findings[0],
        blind=tuple(
            FleetBlindSpot(rule=name, lacks=name, source=Source.SIDECAR, servers=1, examples=(name,), cure=name)
            for name in NAMES
        ),
        not_asked=tuple(NotAsked(servers=(name,), reason=name) for name in NAMES),
        not_modelled=NAMES,
        vanished=tuple(Vanished(server=name, at=reports.AT) for name in NAMES),
        warnings=NAMES,
        capacity=Capacity(
            may_read=50,
            servers=tuple(
                CapacityEstimate(server=name, method=name, days=30, reads_predicted=2, change=_change(name), **estimate)
                for name in NAMES
            ),
            may_go_bytes=2**29,
            left_out=dict.fromkeys(NAMES, 1),
        ),
    )


def _change(name: str) -> Change:
    return Change(
        setting=name,
        from_=name,
        to=name,
        dynamic=True,
        apply=(f"SET GLOBAL {name} = 1",),
        rollback=(f"SET GLOBAL {name} = 2",),
        persist=(),
        config=f"{name} = 1",
        via=name,
        note=name,
    )
