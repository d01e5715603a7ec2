"""The trial of a workload: all rules watch it under load, and everything that they advise is followed and measured."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pymysql

from advisor.advice import evaluation
from advisor.contract.recommendation import Action, Advice, Change, Effect, Recommendation
from advisor.rules.check import Rule
from exporter.server import Server as WatchedServer
from lab.gauntlet.counters import Counters, mean, noise
from lab.gauntlet.quantities import quantity, read
from lab.gauntlet.record import FEW, Entry, GauntletRecord, Measured, Promise
from lab.gauntlet.rounds import Rounds, Sidecar
from lab.gauntlet.workload import Workload
from lab.harness.follow import Following
from lab.harness.records import Data, NotShown, Part
from lab.harness.watch import rules
from lab.harness.workloads import make_table, scan
from lab.processes.program import ProgramFailed
from lab.servers import Server
from lab.servers.sql import execute

MEASURED = 5
"""Rounds after advice; three times as many where chance is large."""
LARGE = 0.1
"""Chance, as a share of the reads before advice, that calls for a longer measurement."""
MOST_SETTLING, MOST_FILLING = 40, 200
"""Rounds until the load counts as settled in any case: usually, and after a change of the pool's size."""
STEADY = 0.05
"""Rounds whose reads differ from those before them by less than this share are settled."""
COMPARED, FILLING = 4, 20
"""Rounds that are compared with as many before: usually, and after a change of the pool's size. A larger pool fills
slowly: 1,000 lookups a round on 2,600 pages read 416 in the second round, 379 in the tenth, 80 in the thirtieth. It
takes longer where the pool grows without a restart (MariaDB 11.8.9, not 11.8.6): 1,080 young pages of an unused table
stay until pages that are hit in the old sublist a second after their first access displace them, some six a round."""
RESTORING = 3
"""Rounds that bring the pool back to its state before advice, once another table has filled it."""
MOST_FOLLOWED = 3
"""Findings of a workload that are followed, the most severe first."""
PATIENCE = 30.0
"""A rule's least time budget, seconds: the verdict must not depend on other work on the machine."""

_FILLER = "filler"
_POOL_SIZE = "innodb_buffer_pool_size"
Say = Callable[[str], None]


def part(workload: Workload, server: str) -> Part:
    """A workload on a server, as a part of a campaign."""
    takes = (workload.warm_up + workload.watched + 10) * max(workload.period, 1.5) + 10
    return Part(f"gauntlet/{server}", workload.name, server, workload.options_on(server), _run(workload), takes)


def _run(workload: Workload) -> Callable[[Server, Say], Data]:
    def run(server: Server, say: Say) -> Data:
        try:
            return trial(workload, server, say).model_dump(mode="json")
        except (pymysql.MySQLError, ProgramFailed, KeyError) as error:
            raise NotShown(f"{type(error).__name__}: {error}") from error

    return run


def trial(workload: Workload, server: Server, say: Say) -> GauntletRecord:
    """Watch a workload, follow what is advised, and measure."""
    say("its tables are made")
    _prepare(workload, server)
    with Sidecar(server) as sidecar, Rounds(server, workload, sidecar) as rounds:
        say("it warms up")
        rounds.run(workload.warm_up)
        _settle(rounds)
        say("it is watched")
        sidecar.collect()
        before, lost = _watch(workload, rounds, sidecar)
        watched = len(before) * workload.cycle
        seconds = mean(rounds.seconds[-watched:])
        say("all rules judge it")
        advice = _judge(sidecar, watched + 1)
        watched_server = sidecar.window(1).latest.server
        entries = list(_followed(workload, server, rounds, advice=advice, before=before, say=say))
    return GauntletRecord(
        about=workload.about,
        expectation=workload.expectation.why,
        reported=workload.reported,
        said=tuple(each.rule for each in advice.recommendations),
        unexpected=(*_unexpected(workload, advice, watched_server), *lost),
        blind=tuple(dict.fromkeys(each.rule for each in advice.blind)),
        read=mean([each.read for each in before]),
        written=mean([each.written for each in before]),
        noise=noise([each.read for each in before]),
        seconds=seconds,
        busy=mean([each.busy for each in before]),
        entries=tuple(entries),
    )


def _prepare(workload: Workload, server: Server) -> None:
    """Create the tables and empty the pool; a slow shutdown leaves nothing to purge (see captures' ``emptied``)."""
    with server.connect() as connection:
        for table, pages in workload.tables.items():
            make_table(connection, table, pages)
        if workload.filled:
            make_table(connection, _FILLER, workload.pool_pages(server.name))
    if workload.prepare is not None:
        workload.prepare(server)
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    _fill(workload, server)


def _fill(workload: Workload, server: Server) -> None:
    """Fill the pool with another table."""
    if workload.filled:
        with server.connect() as connection:
            scan(connection, _FILLER)


def _settle(rounds: Rounds, compared: int = COMPARED, most: int = MOST_SETTLING) -> None:
    """Play rounds until the reads of the last few are near those of as many before.

    Lookups fill a pool slowly: two neighbouring rounds hardly differ long before the end. Long cycles are compared one
    by one.
    """
    compared = compared if rounds.cycle == 1 else 1
    done = rounds.run(2 * compared * rounds.cycle)
    while len(done) * rounds.cycle < most:
        last = [each.read for each in done[-2 * compared :]]
        earlier, later = mean(last[:compared]), mean(last[compared:])
        if abs(later - earlier) <= max(STEADY * earlier, FEW):
            break
        done += rounds.run(1)


def _judge(sidecar: Sidecar, snapshots: int, findings: frozenset[str] = frozenset()) -> Advice:
    """What all rules say of the newest snapshots."""
    patient = [rule.with_budget(max(PATIENCE, rule.file.budget_seconds)) for rule in rules()]
    return evaluation.advise(patient, sidecar.window(snapshots), findings=findings)


def _watch(workload: Workload, rounds: Rounds, sidecar: Sidecar) -> tuple[list[Counters], list[str]]:
    """The watched rounds, and the findings that came and went."""
    if not workload.each_time:
        return rounds.run(workload.watched), []
    done = rounds.run(3)
    found: frozenset[str] = frozenset()
    known: dict[str, str] = {}
    lost: list[str] = []
    while True:
        watched = len(done) * rounds.cycle
        advice = _judge(sidecar, watched + 1, found)
        now = {each.fingerprint: each.rule for each in advice.recommendations}
        lost += [f"a finding came and went: {known[each]}" for each in found - now.keys()]
        found, known = frozenset(now), now
        if watched >= workload.watched:
            return done, lost
        done += rounds.run(1)


def _unexpected(workload: Workload, advice: Advice, server: WatchedServer) -> Iterator[str]:
    """What is not as the workload expects."""
    expected, fired = workload.expectation, [each.rule for each in advice.recommendations]
    able: dict[str, Rule] = {rule.id: rule for rule in rules() if server in rule.file.applies}
    wanted = [rule for rule in expected.one_of if rule in able]
    if wanted and not set(wanted) & set(fired):
        blind = {each.rule: each.reason for each in advice.blind}
        why = "; ".join(f"{rule}: {blind[rule]}" for rule in wanted if rule in blind)
        yield f"silent: none of {', '.join(wanted)} fires{f' ({why})' if why else ''}"
    yield from (f"fires: {rule}" for rule in expected.never if rule in fired)
    if expected.quiet:
        yield from (f"changes a setting: {each.rule}" for each in advice.recommendations if each.changes)
    yield from (f"failed: {each.rule}: {each.reason}" for each in advice.failed)


def _followed(
    workload: Workload, server: Server, rounds: Rounds, *, advice: Advice, before: Sequence[Counters], say: Say
) -> Iterator[Entry]:
    """Follow each finding and each alternative alone, measure, and take it back.

    Findings that advise the same, as for two tables, are followed once.

    Args:
        workload: The workload.
        server: The server.
        rounds: The load.
        advice: What was advised on it.
        before: The watched rounds.
        say: Takes a progress message.
    """
    same: dict[tuple[object, ...], tuple[tuple[str, ...], str, list[Counters]]] = {}
    for found in advice.recommendations[:MOST_FOLLOWED]:
        ways: list[tuple[tuple[Change, ...], Effect | None]] = [(found.changes, found.effect)]
        ways += [((each.change,), each.effect) for each in found.alternatives]
        for number, (changes, effect) in enumerate(ways):
            actions = () if number else found.actions
            if not any(change.apply or not change.dynamic for change in changes) and not any(
                action.apply for action in actions
            ):
                continue  # words for people: nothing to execute
            advised = (*((each.setting, each.to) for each in changes), *(each.apply for each in actions))
            if advised not in same:
                if same:
                    say("the pool is brought back to its state before")
                    _fill(workload, server)
                    rounds.run(RESTORING)
                say(f"{found.rule} is followed")
                same[advised] = _after(server, rounds, changes, actions, before)
            applied, refused, after = same[advised]
            yield Entry(
                rule=found.rule,
                severity=found.severity.value,
                confidence=found.confidence,
                summary=found.summary,
                subject=found.subject,
                alternative=number > 0,
                applied=applied,
                refused=refused,
                promise=_promise(found, effect, before, after, len(before) * workload.cycle),
                read=_measured(read, before, after),
                written=_measured(lambda each: each.written, before, after),
                busy=_measured(lambda each: each.busy, before, after),
                tables=_tables(before, after),
            )


def _after(
    server: Server, rounds: Rounds, changes: tuple[Change, ...], actions: tuple[Action, ...], before: Sequence[Counters]
) -> tuple[tuple[str, ...], str, list[Counters]]:
    """Follow advice and take it back: what was executed, what was refused, and the rounds in between."""
    following, refused, after = Following(server), "", list(before)
    rounds.disconnect()
    try:
        following.follow(changes, actions)
        if any(each.setting == _POOL_SIZE for each in changes):
            _settle(rounds, FILLING, MOST_FILLING)
        else:
            _settle(rounds)
        after = rounds.run(MEASURED)
        if _measured(read, before, after).noise > LARGE * mean([each.read for each in before]):
            after += rounds.run(2 * MEASURED)
    except NotShown as error:
        refused = str(error)
    rounds.disconnect()
    with contextlib.suppress(NotShown):
        following.take_back()
    return tuple(following.applied), refused, after


def _measured(value: Callable[[Counters], float], before: Sequence[Counters], after: Sequence[Counters]) -> Measured:
    was, is_ = [value(each) for each in before], [value(each) for each in after]
    return Measured(before=mean(was), after=mean(is_), noise=noise(was, is_))


def _tables(before: Sequence[Counters], after: Sequence[Counters]) -> dict[str, Measured]:
    """Pages read from each table's file."""
    names = sorted({name for each in (*before, *after) for name in each.tables})
    return {name: _measured(partial(_of_table, name), before, after) for name in names}


def _of_table(name: str, counters: Counters) -> float:
    return counters.tables.get(name, 0.0)


def _promise(
    found: Recommendation, effect: Effect | None, before: Sequence[Counters], after: Sequence[Counters], rounds: int
) -> Promise | None:
    """The finding's effect with its measurement; None where it is not a rate."""
    if effect is None or effect.now is None or (how := quantity(found, effect, rounds)) is None:
        return None
    return Promise(
        quantity=effect.quantity,
        unit=effect.unit,
        per_round=how.per_round,
        now=effect.now,
        predicted=effect.predicted,
        error=effect.error,
        measured=_measured(how.measured, before, after),
    )
