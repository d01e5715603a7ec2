"""The trial of a workload: all rules watch it under load, and everything that they advise is followed and measured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import pymysql

from advisor.contract.recommendation import Action, Advice, Change, Effect, Recommendation
from exporter.server import Server
from lab.gauntlet.record import FEW, FollowedAdvice, GauntletRecord, PromisedSaving, RoundFigure, broken
from lab.gauntlet.report import line
from lab.gauntlet.rounds import BUSY, MERGES, READ, WRITTEN, LoadRounds, column, noise
from lab.gauntlet.workload import GauntletWorkload
from lab.harness.campaign import Study
from lab.harness.follow import Following
from lab.harness.measure import Figures
from lab.harness.records import Data, Entries, NotShown, Part, Say
from lab.harness.watch import SidecarSampler, judge, rules
from lab.harness.workloads import make_table, scan
from lab.servers import PrivateServer, stand_in
from lab.servers.sql import execute

INTERVAL = 0.1
"""Least seconds between two snapshots: shorter than a round, so that the history keeps the collection of each round."""
MEASURED = 5
"""Rounds after advice; three times as many where chance is large."""
LARGE = 0.1
"""Chance, as a share of the reads before advice, that calls for a longer measurement."""
RESTORING = 3
"""Rounds that bring the pool back to its state before advice, once another table has filled it."""
MOST_FOLLOWED = 3
"""Findings of a workload that are followed, the most severe first."""
PASSES = ("passes", "passes_by_parallel_readers")
"""Evidence of how often the table was read."""
NOT_RATES = {
    "rules without a source that they need",
    "memory for the buffer pool",
    "pages that a slow shutdown reads to empty the change buffer",
    "pages of the change buffer after a slow shutdown",
    "pages that one COUNT(*) goes through",
    "bytes that a build of the largest index writes to temporary files",
    "pages of data files that reads and writes leave in the page cache",
    "age of the checkpoint",
    "parallel reader threads per core",
    "seconds per COUNT(*)",
    "young pages read again after a restart, at most",
}
"""Quantities that rounds do not show. The statements are executed all the same, and nothing may get worse."""


@dataclass(frozen=True)
class SettledLoad:
    """When a load counts as settled.

    Attributes:
        compared: Rounds that are compared with as many before.
        most: Rounds until it counts as settled in any case.
        steady: Settled are rounds whose reads differ from those before them by less than this share.
    """

    compared: int = 4
    most: int = 40
    steady: float = 0.05


USUALLY = SettledLoad()
RESIZED = SettledLoad(compared=20, most=200)
"""After a change of the pool's size. A larger pool fills slowly: 1,000 lookups a round on 2,600 pages read 416 in the
second round, 379 in the tenth, 80 in the thirtieth. It takes longer where the pool grows without a restart (MariaDB
11.8.9, not 11.8.6): 1,080 young pages of an unused table stay until pages that are hit in the old sublist a second
after their first access displace them, some six a round."""

_FILLER = "filler"
_POOL_SIZE = "innodb_buffer_pool_size"
Rounds = Sequence[Figures]


def study(server: str, workloads: Iterable[GauntletWorkload]) -> Study:
    """The workloads that run on a server."""
    return Study(
        [
            Part(f"gauntlet/{server}", workload.name, server, workload.options_on(server), partial(_run, workload))
            for workload in workloads
            if stand_in(server) in workload.servers
        ],
        broken=lambda entries: broken(_recorded(entries)),
        lines=lambda entries: (text for name, record in _recorded(entries) for text in line(name, record)),
    )


def _run(workload: GauntletWorkload, server: PrivateServer, say: Say) -> Data:
    try:
        return trial(workload, server, say).model_dump(mode="json")
    except (pymysql.MySQLError, KeyError) as error:
        raise NotShown(f"{type(error).__name__}: {error}") from error


def _recorded(entries: Entries) -> list[tuple[str, GauntletRecord]]:
    return [
        (f"{name} on {entry['server']}", GauntletRecord.model_validate(entry["data"]))
        for name, entry in entries.items()
    ]


def trial(workload: GauntletWorkload, server: PrivateServer, say: Say) -> GauntletRecord:
    """Watch a workload, follow what is advised, and measure."""
    say("its tables are made")
    prepare(workload, server)
    with SidecarSampler(server, interval=INTERVAL) as sidecar, LoadRounds(server, workload, sidecar) as rounds:
        say("it warms up")
        rounds.run(workload.warm_up)
        settle(rounds)
        say("it is watched")
        sidecar.collect()
        before, lost = _watch(workload, rounds, sidecar)
        watched = len(before) * workload.cycle
        seconds = fmean(rounds.seconds[-watched:])
        say("all rules judge it")
        advice = judge(sidecar.window(watched + 1))
        watched_server = sidecar.window(1).latest.server
        entries = list(_followed(workload, server, rounds, advice=advice, before=before, say=say))
    return GauntletRecord(
        about=workload.about,
        expectation=workload.expectation,
        reported=workload.reported,
        said=tuple(finding.rule for finding in advice.recommendations),
        unexpected=(*_unexpected(workload, advice, watched_server), *lost),
        blind=tuple(dict.fromkeys(blind.rule for blind in advice.blind)),
        read=fmean(column(before, READ)),
        written=fmean(column(before, WRITTEN)),
        noise=noise(column(before, READ)),
        seconds=seconds,
        busy=fmean(column(before, BUSY)),
        entries=tuple(entries),
    )


def prepare(workload: GauntletWorkload, server: PrivateServer) -> None:
    """Create the tables and empty the pool; a slow shutdown leaves nothing to purge (see `emptied`)."""
    with server.connect() as connection:
        for table, pages in workload.tables.items():
            make_table(connection, table, pages)
        if workload.filled:
            make_table(connection, _FILLER, workload.pool_pages(server.name))
    if workload.prepare is not None:
        workload.prepare(server)
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    fill(workload, server)


def fill(workload: GauntletWorkload, server: PrivateServer) -> None:
    """Fill the pool with another table."""
    if workload.filled:
        with server.connect() as connection:
            scan(connection, _FILLER)


def settle(rounds: LoadRounds, settled: SettledLoad = USUALLY) -> None:
    """Play rounds until the reads of the last few are near those of as many before.

    Lookups fill a pool slowly: two neighbouring rounds hardly differ long before the end. Long cycles are compared one
    by one.
    """
    compared = settled.compared if rounds.cycle == 1 else 1
    done = rounds.run(2 * compared * rounds.cycle)
    while len(done) * rounds.cycle < settled.most:
        last = column(done, READ)[-2 * compared :]
        earlier, later = fmean(last[:compared]), fmean(last[compared:])
        if abs(later - earlier) <= max(settled.steady * earlier, FEW):
            break
        done += rounds.run(1)


def _watch(workload: GauntletWorkload, rounds: LoadRounds, sidecar: SidecarSampler) -> tuple[list[Figures], list[str]]:
    """The watched rounds, and the findings that came and went."""
    if not workload.each_time:
        return rounds.run(workload.watched), []
    done = rounds.run(3)
    known: Sequence[Recommendation] = ()
    lost: list[str] = []
    while True:
        watched = len(done) * rounds.cycle
        advice = judge(sidecar.window(watched + 1), findings=known)
        now = {finding.fingerprint for finding in advice.recommendations}
        lost += [f"a finding came and went: {gone.rule}" for gone in known if gone.fingerprint not in now]
        known = advice.recommendations
        if watched >= workload.watched:
            return done, lost
        done += rounds.run(1)


def _unexpected(workload: GauntletWorkload, advice: Advice, server: Server) -> Iterator[str]:
    """What is not as the workload expects."""
    fired = [finding.rule for finding in advice.recommendations]
    able = {rule.id for rule in rules() if server in rule.file.applies}
    expected = [rule for rule in workload.one_of if rule in able]
    if expected and not set(expected) & set(fired):
        blind = {blind.rule: blind.reason for blind in advice.blind}
        why = "; ".join(f"{rule}: {blind[rule]}" for rule in expected if rule in blind)
        yield f"silent: none of {', '.join(expected)} fires{f' ({why})' if why else ''}"
    yield from (f"fires: {rule}" for rule in workload.never if rule in fired)
    if workload.quiet:
        yield from (f"changes a setting: {finding.rule}" for finding in advice.recommendations if finding.changes)
    yield from (f"failed: {failed.rule}: {failed.reason}" for failed in advice.failed)


def _followed(
    workload: GauntletWorkload, server: PrivateServer, rounds: LoadRounds, *, advice: Advice, before: Rounds, say: Say
) -> Iterator[FollowedAdvice]:
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
    same: dict[tuple[object, ...], tuple[tuple[str, ...], str, Rounds]] = {}
    for finding in advice.recommendations[:MOST_FOLLOWED]:
        ways: list[tuple[tuple[Change, ...], Effect | None]] = [(finding.changes, finding.effect)]
        ways += [((alternative.change,), alternative.effect) for alternative in finding.alternatives]
        for number, (changes, effect) in enumerate(ways):
            actions = () if number else finding.actions
            if not any(change.apply or not change.dynamic for change in changes) and not any(
                action.apply for action in actions
            ):
                continue  # words for people: nothing to execute
            advised = (*((change.setting, change.to) for change in changes), *(action.apply for action in actions))
            if advised not in same:
                if same:
                    say("the pool is brought back to its state before")
                    fill(workload, server)
                    rounds.run(RESTORING)
                say(f"{finding.rule} is followed")
                same[advised] = _after(server, rounds, changes, actions, before)
            applied, refused, after = same[advised]
            tables = sorted({name for figures in (*before, *after) for name in figures if "/" in name})
            yield FollowedAdvice(
                rule=finding.rule,
                severity=finding.severity.value,
                confidence=finding.confidence,
                summary=finding.summary,
                subject=finding.subject,
                alternative=number > 0,
                applied=applied,
                refused=refused,
                promise=_promise(finding, effect, before, after, len(before) * workload.cycle),
                read=figure(READ, before, after),
                written=figure(WRITTEN, before, after),
                busy=figure(BUSY, before, after),
                tables={name: figure(name, before, after) for name in tables},
            )


def _after(
    server: PrivateServer, rounds: LoadRounds, changes: tuple[Change, ...], actions: tuple[Action, ...], before: Rounds
) -> tuple[tuple[str, ...], str, Rounds]:
    """Follow advice and take it back: what was executed, what was refused, and the rounds in between."""
    following, refused, after = Following(server), "", list(before)
    try:
        with followed(following, rounds, changes, actions):
            after = rounds_after(rounds, changes, before)
    except NotShown as error:
        refused = str(error)
    return tuple(following.applied), refused, after


@contextlib.contextmanager
def followed(
    following: Following, rounds: LoadRounds, changes: tuple[Change, ...], actions: tuple[Action, ...] = ()
) -> Iterator[None]:
    """Follow advice, and take it back at the end. New sessions have the new settings.

    Raises:
        NotShown: The server refuses it.
    """
    rounds.disconnect()
    try:
        following.follow(changes, actions)
        yield
    finally:
        rounds.disconnect()
        with contextlib.suppress(NotShown):
            following.take_back()


def rounds_after(rounds: LoadRounds, changes: tuple[Change, ...], before: Rounds) -> list[Figures]:
    """The rounds after a change, once the load has settled; more of them where chance is large."""
    settle(rounds, RESIZED if any(change.setting == _POOL_SIZE for change in changes) else USUALLY)
    after = rounds.run(MEASURED)
    if figure(READ, before, after).noise > LARGE * fmean(column(before, READ)):
        after += rounds.run(2 * MEASURED)
    return after


def figure(name: str, before: Rounds, after: Rounds) -> RoundFigure:
    """A figure of a round, before and after."""
    was, is_ = column(before, name), column(after, name)
    return RoundFigure(before=fmean(was), after=fmean(is_), noise=noise(was, is_))


def _promise(
    finding: Recommendation, effect: Effect | None, before: Rounds, after: Rounds, rounds: int
) -> PromisedSaving | None:
    """The finding's effect with its measurement; None where it is not a rate."""
    if effect is None or effect.now is None or effect.quantity in NOT_RATES:
        return None
    name, per_round = _measured_by(finding, effect, rounds)
    return PromisedSaving(
        quantity=effect.quantity,
        unit=effect.unit,
        per_round=per_round,
        now=effect.now,
        predicted=effect.predicted,
        error=effect.error,
        measured=figure(name, before, after),
    )


def _measured_by(finding: Recommendation, effect: Effect, rounds: int) -> tuple[str, float]:
    """The figure of a round that shows a finding's quantity, and the factor from the finding's unit to the figure's.

    Raises:
        KeyError: A quantity that is neither measured here nor among NOT_RATES.
    """
    seconds = finding.watched_seconds / rounds
    evidence = {item.name: item.value for item in finding.evidence}
    match effect.quantity:
        case "pages read per pass":
            passes = next(float(evidence[name]) for name in PASSES if name in evidence)
            return f"{finding.subject['schema']}/{finding.subject['table']}", passes / rounds
        case "pages read per second" | "secondary-index pages read per second by inserts and updates":
            return READ, seconds
        case "pages read by the same work":
            return READ, 1.0 / rounds
        case "change buffer merges per second":
            return MERGES, seconds
        case other:
            raise KeyError(f"{finding.rule} predicts {other!r}: say in lab.gauntlet.trial how it is measured")
