"""The trial of a load: all advisers look at the server under it, and each change is followed alone and taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median

import pymysql

from advisor.contract.changes import change_at, refuses
from advisor.contract.recommendation import Action, Advice, Change
from advisor.contract.settings import SETTINGS
from exporter.snapshot import Snapshot
from lab.gauntlet import trial as gauntlet
from lab.gauntlet.rounds import BUSY, READ, WRITTEN, LoadRounds, column
from lab.gauntlet.workload import GauntletWorkload
from lab.gauntlet.workloads import workloads
from lab.harness.campaign import Study
from lab.harness.follow import Following
from lab.harness.measure import Figures
from lab.harness.records import Data, Entries, NotShown, Part, Say
from lab.harness.watch import SidecarSampler, judge
from lab.peers.advisers import MEMORY, MIB, OURS, PeerSentence, sentences
from lab.peers.record import FollowedChange, Measured, PeersRecord
from lab.processes.usage import memory_mib
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number
from lab.upgrades.workloads import WORKLOADS as UPGRADED

GROUP = "peers"
_TPCC, _INSERTS = "tpcc", "inserts"
"""The latter because the gauntlet's loads of inserts begin without change buffering, which is AWS's advice."""
_ALSO_ON_MARIADB = ("scan-beside-hot-set", "even-lookups", _TPCC)
OPTIONS = {"innodb-flush-log-at-trx-commit": "1", "sync-binlog": "1"}
"""The servers' own defaults, which the lab's servers do without: nobody shall have to advise them."""


@dataclass(frozen=True)
class AdvisedChange:
    """Changes and actions that are followed together, and who asks for them; none of them is the control."""

    changes: tuple[Change, ...] = ()
    actions: tuple[Action, ...] = ()
    advisers: tuple[str, ...] = ()


def study() -> Study:
    """Every load on its servers."""
    parts = [
        Part(GROUP, f"{load.name}, {server}", server, load.options_on(server) | OPTIONS, partial(_run, load))
        for load, server in loads()
    ]
    return Study(parts, lines=_lines)


def loads() -> Iterator[tuple[GauntletWorkload, str]]:
    """The loads with their servers: the gauntlet's, and others, on the first that has them; some on MariaDB too."""
    chosen = (*workloads(), *(upgraded.load for upgraded in UPGRADED if upgraded.load.name in {_TPCC, _INSERTS}))
    yield from ((load, load.servers[0]) for load in chosen)
    yield from ((load, "mariadb-11.8") for load in chosen if load.name in _ALSO_ON_MARIADB)


def _lines(entries: Entries) -> Iterator[str]:
    for name, entry in entries.items():
        for change in PeersRecord.model_validate(entry["data"]).changes:
            applied = "; ".join(change.applied) or "no change"
            yield f"{name}: {', '.join(change.advisers)}: {applied}: reads {change.read}, writes {change.written}"


def _run(workload: GauntletWorkload, server: PrivateServer, say: Say) -> Data:
    try:
        return trial(workload, server, say).model_dump(mode="json")
    except pymysql.MySQLError as error:
        raise NotShown(f"{type(error).__name__}: {error}") from error


def trial(workload: GauntletWorkload, server: PrivateServer, say: Say) -> PeersRecord:
    """Put a load on a server, ask all advisers, follow each change alone, and measure."""
    say("its tables are made")
    gauntlet.prepare(workload, server)
    with (
        SidecarSampler(server, interval=gauntlet.INTERVAL) as sidecar,
        LoadRounds(server, workload, sidecar) as rounds,
    ):
        say("it warms up")
        rounds.run(workload.warm_up)
        gauntlet.settle(rounds)
        say("it is watched")
        sidecar.collect()
        watched = len(rounds.run(workload.watched)) * workload.cycle
        advice = judge(sidecar.window(watched + 1))
        said = sentences(server)
        advised, not_followed = _advised(advice, said, sidecar.window(1).latest)
        changes = []
        for change in (AdvisedChange(), *advised):
            say("the server starts anew")
            _begin(workload, server, rounds)
            say(f"{', '.join(change.advisers)}: followed" if change.advisers else "nothing is changed")
            changes.append(_measured(server, rounds, change))
    own = tuple(finding.summary for finding in advice.recommendations)
    return PeersRecord(
        about=workload.about,
        memory_mib=MEMORY,
        said={OURS: own, **{name: tuple(sentence.text for sentence in texts) for name, texts in said.items()}},
        not_followed=not_followed,
        changes=tuple(changes),
    )


def _begin(workload: GauntletWorkload, server: PrivateServer, rounds: LoadRounds) -> None:
    """Start the server and the load anew: pages that a change made young would stay in the pool."""
    rounds.disconnect()
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    gauntlet.fill(workload, server)
    rounds.run(workload.warm_up)
    gauntlet.settle(rounds)


def _advised(
    advice: Advice, said: dict[str, tuple[PeerSentence, ...]], latest: Snapshot
) -> tuple[list[AdvisedChange], dict[str, str]]:
    """What is to be followed, each change once, and why sentences that name a setting are not."""
    advised: dict[tuple[object, ...], AdvisedChange] = {}
    not_followed: dict[str, str] = {}
    for finding in advice.recommendations[: gauntlet.MOST_FOLLOWED]:
        statements = [statement for action in finding.actions for statement in action.apply]
        if finding.changes or statements:
            key = (*((change.setting, change.to) for change in finding.changes), *statements)
            advised.setdefault(key, AdvisedChange(finding.changes, finding.actions, (OURS,)))
    for adviser, texts in said.items():
        for sentence in texts:
            if not sentence.setting or sentence.value is None:
                continue
            if why := _refusal(latest, sentence):
                not_followed[sentence.text] = why
                continue
            before = SETTINGS[sentence.setting].read(str(latest.setting(sentence.setting)))
            change = change_at(latest, sentence.setting, before, sentence.value)
            key = ((change.setting, change.to),)
            others = advised[key].advisers if key in advised else ()
            advised[key] = AdvisedChange((change,), (), (*others, adviser))
    return list(advised.values()), not_followed


def _refusal(latest: Snapshot, sentence: PeerSentence) -> str:
    """Why the change of a sentence is not followed; empty if it is."""
    try:
        return refuses(latest.server, sentence.setting, sentence.value or "") or ""
    except KeyError:
        return "the lab knows no way to set it and to take it back"


def _measured(server: PrivateServer, rounds: LoadRounds, change: AdvisedChange) -> FollowedChange:
    """Follow a change alone, between rounds before and after it, and take it back."""
    before, memory = rounds.run(gauntlet.MEASURED), _memory(server)
    following, refused, after, then = Following(server), "", before, memory
    try:
        with gauntlet.followed(following, rounds, change.changes, change.actions):
            after = gauntlet.rounds_after(rounds, change.changes, before)
            then = _memory(server)
    except NotShown as error:
        refused = str(error)
    figure = partial(gauntlet.figure, before=before, after=after)
    return FollowedChange(
        advisers=change.advisers,
        applied=tuple(following.applied),
        refused=refused,
        read=figure(READ),
        written=figure(WRITTEN),
        tables={name: figure(name) for name in _tables((*before, *after))},
        work=Measured(before=median(column(before, BUSY)), after=median(column(after, BUSY))),
        pool=Measured(before=memory[0], after=then[0]),
        resident=Measured(before=memory[1], after=then[1]),
    )


Memory = tuple[float, float]
"""MiB of the pool, and of the server's own memory that is resident."""


def _memory(server: PrivateServer) -> Memory:
    pool = query_number(server, "SELECT @@GLOBAL.innodb_buffer_pool_size") / MIB
    return pool, memory_mib(server.pid, "RssAnon") or 0.0


def _tables(rounds: Iterable[Figures]) -> list[str]:
    return sorted({name for figures in rounds for name in figures if "/" in name})
