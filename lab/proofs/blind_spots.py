"""Proofs of blind-spot, the rule of unreadable sources."""

from __future__ import annotations

import statistics
from functools import partial

import pymysql

from advisor.advice import evaluation
from advisor.observe.window import Window
from lab.harness.measure import reads
from lab.harness.records import Data, NotShown
from lab.harness.watch import observed_window, rules
from lab.harness.workloads import look_up, make_table, scan
from lab.proofs.base import CounterProof, Proof
from lab.proofs.cpu import cpu_milliseconds
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck, MeasuredEffect
from lab.proofs.trial import Trial
from lab.servers import Server
from lab.servers.sql import execute

_RULE = "blind-spot"
_NOBODY = "nobody"
_HANDLER = "wait/io/table/sql/handler"
_PAGES = 3_000  # more than the pool holds
_LITTLE = {"innodb-buffer-pool-size": "24M", "innodb-lru-scan-depth": "100"}
_PROBES = (
    "SELECT COUNT(*) FROM information_schema.INNODB_METRICS",
    "SELECT COUNT(*) FROM mysql.innodb_index_stats",
    "SELECT COUNT(*) FROM performance_schema.file_summary_by_instance",
)
"""One statement for each grant that the sidecar needs."""


def _window(server: Server, user: str) -> Window:
    return observed_window(server, lambda: None, 1, user)


def _lacking(window: Window, sources: frozenset[str]) -> int:
    """The number of rules for this server that need one of these sources, which cannot be read.

    The rules that are blind now are fewer: some are settled by what is known.
    """
    shut = sources & _shut(window)
    lacking = {rule.id for rule in rules() if window.latest.server in rule.file.applies and shut & {*rule.file.needs}}
    blind = {each.rule for each in evaluation.advise(rules(), window).blind if each.lacks in sources}
    if not blind <= lacking:
        raise NotShown(f"without a need for what cannot be read these are blind: {', '.join(sorted(blind - lacking))}")
    return len(lacking)


def _shut(window: Window) -> frozenset[str]:
    return frozenset(name for name, outcome in window.latest.outcomes.items() if outcome.failure)


def _refused(server: Server, user: str) -> int:
    """The number of probes that the server refuses to this account."""
    refused = 0
    for sql in _PROBES:
        with server.connect(user=user) as connection, connection.cursor() as cursor:
            try:
                cursor.execute(sql)
            except pymysql.MySQLError:
                refused += 1
    return refused


def _reads(server: Server) -> float:
    """Pages that a scan of a table larger than the pool reads."""
    with server.connect() as connection:
        once = partial(scan, connection, "orders")
        reads(server, once, 2)  # reaches the steady state
        return reads(server, once, 3)


def _lookups(server: Server, times: int = 2_000) -> float:
    """CPU milliseconds of the server for point lookups that read nothing."""
    with server.connect() as connection:
        return cpu_milliseconds(server, partial(look_up, connection, "items", 400, times, 1), 1)


class _Opened:
    """The findings of blind-spot, followed one after the other, and the rules that need their sources."""

    def __init__(self, trial: Trial, user: str) -> None:
        self._trial, self._user = trial, user
        self._effects: list[tuple[MeasuredEffect, frozenset[str]]] = []
        self.needing: set[str] = set()

    def follow_all(self, **by_hand: str) -> int:
        """Follow all current findings of the rule; return their number."""
        window = _window(self._trial.server, self._user)
        cures = [found.subject["cure"] for found in self._trial.said(window)]
        for cure in cures:
            found = self._trial.fires(window, cure=cure)
            named = {each.name: str(each.value) for each in found.evidence}
            sources = frozenset(named["sources"].split(", "))
            self.needing |= {*named["rules"].split(", ")}
            self._effects.append((self._trial.effect(_lacking(window, sources), 0), sources))
            self._trial.follow(**by_hand)
        return len(cures)

    def effects(self) -> list[MeasuredEffect]:
        """Rules without a source before and after, one effect per finding."""
        window = _window(self._trial.server, self._user)
        self._trial.silent(window)
        return [effect.model_copy(update={"after": _lacking(window, sources)}) for effect, sources in self._effects]


def _all_lacking(window: Window) -> int:
    """The number of rules with an unreadable source."""
    return _lacking(window, _shut(window))


def _measures(before: float, after: float) -> list[Comparison]:
    return [Comparison(what="pages read by a scan", unit="pages", before=before, after=after)]


def _privileges(trial: Trial) -> Data:
    """An account without privileges, and a disabled instrument."""
    server, opened = trial.server, _Opened(trial, _NOBODY)
    with server.connect() as connection:
        make_table(connection, "orders", _PAGES)
    execute(
        server,
        f"CREATE USER {_NOBODY}@'%'",
        f"UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME = '{_HANDLER}'",
    )
    before, lacking, refused = _reads(server), _all_lacking(_window(server, _NOBODY)), _refused(server, _NOBODY)
    grants = opened.follow_all()
    seen_first = len(opened.needing)
    instruments = opened.follow_all()  # the account can see them only now
    effects = opened.effects()
    facts = [
        EvidenceCheck(name="grants that it asks for", said=grants, known=refused, within=0),
        EvidenceCheck(name="instruments that it then asks for", said=instruments, known=1, within=0),
        EvidenceCheck(name="rules that need what it names", said=seen_first, known=lacking, within=0),
    ]
    after, still = _reads(server), _refused(server, _NOBODY)
    facts.append(EvidenceCheck(name="grants that it asks for in the end", said=0, known=still, within=0))
    trial.take_back()
    again = _all_lacking(_window(server, _NOBODY))
    return trial.proved(
        condition=f"The sidecar's account has no privilege, and the instrument {_HANDLER} is off.",
        facts=[
            *facts,
            EvidenceCheck(name="the same after the rollback", said=seen_first, known=again, within=0),
        ],
        effects=effects,
        measures=_measures(before, after),
        notes="The instrument shows only once the account may look.",
    )


def _switched_off(trial: Trial) -> Data:
    """MariaDB at its defaults, without performance_schema."""
    server, opened = trial.server, _Opened(trial, "root")
    with server.connect() as connection:
        make_table(connection, "orders", _PAGES)
        make_table(connection, "items", 400)
    before, lacking = _reads(server), _all_lacking(_window(server, "root"))
    _lookups(server)
    quiet = statistics.median(_lookups(server) for _ in range(5))
    found = opened.follow_all(performance_schema="ON")
    effects = opened.effects()
    _lookups(server)
    instrumented = statistics.median(_lookups(server) for _ in range(5))
    after = _reads(server)
    trial.take_back()
    return trial.proved(
        condition="The server is started without an option for performance_schema, which is off by default.",
        facts=[
            EvidenceCheck(name="findings", said=found, known=1, within=0),
            EvidenceCheck(name="rules that need what it names", said=len(opened.needing), known=lacking, within=0),
        ],
        effects=effects,
        measures=_measures(before, after),
        notes=f"What it costs: 2,000 point lookups, the shortest statements there are, took the server {quiet:.0f} ms"
        f" of CPU time before and {instrumented:.0f} ms after.",
    )


_OFF = "SELECT NAME FROM performance_schema.setup_{} WHERE ENABLED = 'NO'"
_ON = (
    "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES'",
    "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'",
)


def _back(server: Server) -> list[str]:
    """Statements that disable the instruments and consumers that are disabled now."""
    statements = []
    for kind in ("instruments", "consumers"):
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(_OFF.format(kind))
            names = ", ".join(f"'{name}'" for (name,) in cursor.fetchall())
        statements.append(f"UPDATE performance_schema.setup_{kind} SET ENABLED = 'NO' WHERE NAME IN ({names})")
    return statements


def _everything(trial: Trial) -> CounterProofRecord:
    """Every instrument and consumer is enabled; no rule needs most of them."""
    server = trial.server
    with server.connect() as connection:
        make_table(connection, "items", 400)
    trial.silent(_window(server, "root"))
    off = _back(server)
    took: dict[bool, list[float]] = {False: [], True: []}
    _lookups(server)
    for _ in range(8):  # in turn: a disturbance affects both
        for everything, statements in ((True, _ON), (False, off)):
            execute(server, *statements)
            took[everything].append(_lookups(server))
    return CounterProofRecord(
        folklore="switch on every instrument and every consumer of performance_schema",
        source="instructions for the sys schema and for monitoring tools",
        condition="A server as it comes, whose sources are all open to the sidecar.",
        followed=_ON,
        measures=(
            Comparison(
                what="CPU time of 2,000 point lookups, the least of 8 times",
                unit="ms",
                before=min(took[False]),
                after=min(took[True]),
            ),
            Comparison(
                what="CPU time of 2,000 point lookups, the median",
                unit="ms",
                before=statistics.median(took[False]),
                after=statistics.median(took[True]),
            ),
        ),
    )


def _prove(trial: Trial) -> Data:
    return _switched_off(trial) if trial.server.name.startswith("mariadb") else _privileges(trial)


PROOFS = (Proof(_RULE, {"mysql-9.7": _LITTLE, "mariadb-10.11": _LITTLE}, _prove, takes=20.0),)
COUNTER_PROOFS = (CounterProof(_RULE, "mysql-9.7", {}, _everything, takes=25.0),)
