"""Proofs of blind-spot, the rule of unreadable sources."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial

import pymysql

from advisor.observe.window import Window
from exporter.snapshot import Snapshot
from lab.harness.measure import CPU, Figures, measure, repeat
from lab.harness.records import NotShown
from lab.harness.watch import LONGEST, judge, rules, snapshots
from lab.harness.workloads import ask, look_up, make_table, scan
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, Proof
from lab.proofs.trial import RuleTrial
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_column

RULE = "blind-spot"
ROOT, NOBODY = "root", "nobody"
HANDLER = "wait/io/table/sql/handler"
SCANNED_PAGES, CACHED_PAGES = 3_000, 400  # more than the pool holds, and fewer
LOOKUPS, TIMED, ALTERNATIONS = 2_000, 5, 8
PROBES = (
    "SELECT COUNT(*) FROM information_schema.INNODB_METRICS",
    "SELECT COUNT(*) FROM mysql.innodb_index_stats",
    "SELECT COUNT(*) FROM performance_schema.file_summary_by_instance",
)
"""One statement for each grant that the sidecar needs."""
ENABLED = (
    "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES'",
    "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'",
)
_LITTLE = {"innodb-buffer-pool-size": "24M", "innodb-lru-scan-depth": "100"}

Followed = list[tuple[int, frozenset[str]]]
"""For each finding: the number of rules that needed its sources, and these sources."""


_SCAN = (ComparedFigure("pages read by a scan", "pages", "pages"),)
_NEEDING = EvidenceFigure("rules that need what it names", "needing", "lacking", within=0.0)


@Proof(
    RULE,
    {"mysql-9.7": _LITTLE},
    condition=f"The sidecar's account has no privilege, and the instrument {HANDLER} is off.",
    facts=(
        EvidenceFigure("grants that it asks for", "grants", "refused", within=0.0),
        EvidenceFigure("instruments that it then asks for", "instruments", "instruments", within=0.0),
        _NEEDING,
        EvidenceFigure("grants that it asks for in the end", "grants_in_the_end", "refused_in_the_end", within=0.0),
        EvidenceFigure("the same after the rollback", "needing", "lacking_again", within=0.0),
    ),
    measures=_SCAN,
    notes="The instrument shows only once the account may look.",
)
def _privileges(trial: RuleTrial) -> None:
    server = trial.server
    with server.connect() as connection:
        make_table(connection, "orders", SCANNED_PAGES)
    execute(
        server,
        f"CREATE USER {NOBODY}@'%'",
        f"UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME = '{HANDLER}'",
    )
    trial.record(_scan_cost(server))
    trial.before |= {"lacking": _all_lacking(server, NOBODY), "refused": _refused(server), "instruments": 1}
    grants = _follow_all(trial, NOBODY)
    trial.evidence |= {"grants": len(grants), "needing": len(_needing(trial)), "grants_in_the_end": 0}
    instruments = _follow_all(trial, NOBODY)  # the account can see them only now
    trial.evidence["instruments"] = len(instruments)
    _check_effects(trial, NOBODY, grants + instruments)
    trial.record(_scan_cost(server))
    trial.before["refused_in_the_end"] = _refused(server)
    trial.take_back()
    trial.before["lacking_again"] = _all_lacking(server, NOBODY)


@Proof(
    RULE,
    {"mariadb-10.11": _LITTLE},
    condition="The server is started without an option for performance_schema, which is off by default.",
    facts=(EvidenceFigure("findings", "findings", "findings", within=0.0), _NEEDING),
    measures=_SCAN,
    notes=f"What it costs: {LOOKUPS:,} point lookups, the shortest statements there are, took the server"
    " {quiet_ms:.0f} ms of CPU time before and {instrumented_ms:.0f} ms after.",
)
def _switched_off(trial: RuleTrial) -> None:
    server = trial.server
    with server.connect() as connection:
        make_table(connection, "orders", SCANNED_PAGES)
        make_table(connection, "items", CACHED_PAGES)
    trial.record(_scan_cost(server))
    trial.before |= {"lacking": _all_lacking(server, ROOT), "findings": 1, "quiet_ms": _lookups_cost(server)}
    followed = _follow_all(trial, ROOT, performance_schema="ON")
    trial.evidence |= {"findings": len(followed), "needing": len(_needing(trial))}
    _check_effects(trial, ROOT, followed)
    trial.before["instrumented_ms"] = _lookups_cost(server)
    trial.record(_scan_cost(server))
    trial.take_back()


@CounterProof(
    RULE,
    {"mysql-9.7": {}},
    folklore="switch on every instrument and every consumer of performance_schema",
    source="instructions for the sys schema and for monitoring tools",
    condition="A server as it comes, whose sources are all open to the sidecar.",
    measures=(
        ComparedFigure(f"CPU time of {LOOKUPS:,} point lookups, the least of 8 times", "ms", "least_ms"),
        ComparedFigure(f"CPU time of {LOOKUPS:,} point lookups, the median", "ms", "ms"),
    ),
)
def _everything(trial: RuleTrial) -> None:
    server = trial.server
    with server.connect() as connection:
        make_table(connection, "items", CACHED_PAGES)
    trial.silent(_seen(server, ROOT))
    disabled = _disable(server)
    _lookup_milliseconds(server)

    def lookups(statements: tuple[str, ...]) -> Figures:
        execute(server, *statements)
        return {"ms": _lookup_milliseconds(server)}

    trial.in_turn(ALTERNATIONS, partial(lookups, disabled), partial(lookups, ENABLED))
    trial.folklore += ENABLED


def _follow_all(trial: RuleTrial, user: str, **by_hand: str) -> Followed:
    """Follow all current findings of the rule, one after the other."""
    seen = _seen(trial.server, user)
    followed: Followed = []
    for cure in [finding.subject["cure"] for finding in trial.recommendations(seen)]:
        finding = trial.fires(seen, cure=cure)
        [sources] = [frozenset(str(item.value).split(", ")) for item in finding.evidence if item.name == "sources"]
        followed.append((_lacking(seen, sources), sources))
        trial.follow(**by_hand)
    return followed


def _needing(trial: RuleTrial) -> set[str]:
    """The rules that need what the findings so far name."""
    named = [str(item.value) for finding in trial.findings for item in finding.evidence if item.name == "rules"]
    return {rule for rules_named in named for rule in rules_named.split(", ")}


def _check_effects(trial: RuleTrial, user: str, followed: Followed) -> None:
    """Silence, and the rules without a source before and after, one effect per finding."""
    seen = _seen(trial.server, user)
    trial.silent(seen)
    for number, (before, sources) in enumerate(followed):
        trial.predicts(before, _lacking(seen, sources), finding=number)


def _seen(server: PrivateServer, user: str) -> Sequence[Snapshot]:
    """Two snapshots by an account."""
    return snapshots(server, lambda: None, 1, user=user)


def _lacking(seen: Sequence[Snapshot], sources: frozenset[str]) -> int:
    """The number of rules for this server that need one of these sources, which cannot be read.

    The rules that are blind now are fewer: some are settled by what is known.
    """
    shut, server = sources & _shut(seen), seen[-1].server
    lacking = {rule.id for rule in rules() if server in rule.file.applies and shut & {*rule.file.needs}}
    blind = {blind.rule for blind in judge(Window.of(seen, LONGEST)).blind if blind.lacks in sources}
    if not blind <= lacking:
        raise NotShown(f"without a need for what cannot be read these are blind: {', '.join(sorted(blind - lacking))}")
    return len(lacking)


def _all_lacking(server: PrivateServer, user: str) -> int:
    """The number of rules with an unreadable source."""
    seen = _seen(server, user)
    return _lacking(seen, _shut(seen))


def _shut(seen: Sequence[Snapshot]) -> frozenset[str]:
    return frozenset(name for name, outcome in seen[-1].outcomes.items() if outcome.failure)


def _refused(server: PrivateServer) -> int:
    """The number of probes that the server refuses to the account without privileges."""
    refused = 0
    for sql in PROBES:
        with server.connect(user=NOBODY) as connection:
            try:
                ask(connection, sql)
            except pymysql.MySQLError:
                refused += 1
    return refused


def _scan_cost(server: PrivateServer) -> dict[str, float]:
    """A scan of a table larger than the pool."""
    with server.connect() as connection:
        one_scan = partial(scan, connection, "orders")
        repeat(one_scan, 2)  # reaches the steady state
        return measure(server, one_scan, 3)


def _lookup_milliseconds(server: PrivateServer) -> float:
    """CPU milliseconds of the server for point lookups that read nothing."""
    with server.connect() as connection:
        lookups = partial(look_up, connection, "items", CACHED_PAGES, LOOKUPS, 1)
        return 1000.0 * measure(server, lookups, counters=CPU)["cpu"]


def _lookups_cost(server: PrivateServer) -> float:
    """The median of several times, after one that counts for nothing."""
    return statistics.median([_lookup_milliseconds(server) for _ in range(1 + TIMED)][1:])


def _disable(server: PrivateServer) -> tuple[str, ...]:
    """Statements that disable the instruments and consumers that are disabled now."""
    statements = []
    for kind in ("instruments", "consumers"):
        table = f"performance_schema.setup_{kind}"
        disabled = query_column(server, f"SELECT NAME FROM {table} WHERE ENABLED = 'NO'")
        names = ", ".join(f"'{name}'" for name in disabled)
        statements.append(f"UPDATE {table} SET ENABLED = 'NO' WHERE NAME IN ({names})")
    return tuple(statements)


PROOFS = (_privileges, _switched_off)
COUNTER_PROOFS = (_everything,)
