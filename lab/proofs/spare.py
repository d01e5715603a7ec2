"""Proofs of the rule of a pool that is larger than needed: its memory of days is made by a clock that leaps."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from advisor.advice.interpreter import Remembered
from advisor.casetest.alterations import Alteration
from advisor.observe.window import Window
from advisor.pool import estimate
from advisor.pool.errors import Unanswerable
from advisor.pool.hours import MEMORY, Hour, hour, with_hour
from exporter.snapshot import Snapshot
from lab.captures.scenarios.base import OBSERVABLE
from lab.harness.measure import Work, pages_read, pool_statistic, repeat, together
from lab.harness.records import NotShown
from lab.harness.watch import LONGEST, snapshots
from lab.harness.workloads import emptied, look_up, look_up_pages, scan, with_connection
from lab.processes.usage import memory_mib
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, PredictedFigure, Proof
from lab.proofs.record import PromisedLimit
from lab.proofs.scans import PAUSE as LONG_PAUSE
from lab.proofs.trial import RuleTrial
from lab.servers import PrivateServer
from lab.servers.sql import query_number

HOT, REPORT = "hot", "report"
HOT_PAGES, REPORT_PAGES, ALL_PAGES = 3_000, 6_500, 8_000
LOOKUPS, ROUNDS, PAUSE = 1_000, 12, 0.5
DAYS, NIGHT = 4, 3
"""Days that are remembered, and the hour of the day in which the report runs."""
HOT_SPOT, COLD_PAGES, RARE = 1_500, 13_500, 0.05
"""Pages that nearly all lookups of the full pool ask for, the others, and the share of lookups that ask for these."""
MIXED, SETTLED, MAY_READ = 1_500, 20, 60.0
"""Lookups a round, rounds until the list is in their steady state, and pages a second that may be read more."""
NOISE = 1.0
"""Pages a second that the server and the sidecar read for themselves."""
UP_SECONDS = 30 * 86_400.0
LONG_UP = Alteration.model_validate({"status": {"uptime": UP_SECONDS}})
POOL = {"innodb-buffer-pool-size": "192M"}
POOL_BYTES = "SELECT @@innodb_buffer_pool_size"
_HOUR = 3600.0
_OPTIONS = {
    "mysql-9.7": POOL | {"innodb-buffer-pool-chunk-size": "8M"},
    "mariadb-11.8": OBSERVABLE | POOL,
}


@Proof(
    "buffer-pool-larger-than-needed",
    _OPTIONS,
    condition=f"Rows on {HOT_PAGES:,} pages are looked up, all alike, in a pool of {{size_mib:.0f}} MiB, of which"
    " {unused:,.0f} pages were never filled: {first_summary}. Then, in a full pool of the same size,"
    f" {RARE:.0%} of the lookups go to any of {COLD_PAGES:,} pages and the others to {HOT_SPOT:,}, and"
    f" {MAY_READ:g} pages a second may be read more.",
    facts=(
        EvidenceFigure("hours", "hours", "hours", within=0.0),
        EvidenceFigure("bytes that go", "freed_bytes", "freed", within=0.0),
        EvidenceFigure("bytes that were never filled, of those that go", "unfilled_bytes", "unfilled"),
    ),
    effect=PredictedFigure("size"),
    notes="The server's process gave {given_back:.0f} MiB back the first time; the rest of what went was"
    f" never filled. The first promise includes {NOISE:g} page per second that server and sidecar read for"
    " themselves.",
    altered=LONG_UP,
    why_altered=f"uptime, to {UP_SECONDS / 86_400:.0f} days in each snapshot. The memory of {DAYS} days is made by a"
    " clock that leaps: each of its hours is a measured window of some seconds, as the sidecar would remember it;"
    " only its time and its length of an hour are set",
)
def _pool_twice_the_data(trial: RuleTrial) -> None:
    server = trial.server
    touch_all = with_connection(server, look_up_pages, HOT, range(HOT_PAGES))
    lookups = with_connection(server, look_up, HOT, HOT_PAGES, LOOKUPS)
    with emptied(server, {HOT: HOT_PAGES}):
        touch_all()
        repeat(lookups, 2, PAUSE)
        size, unused = query_number(server, POOL_BYTES), pool_statistic(server, "FREE_BUFFERS")
        seen, before = _watched(server, lookups)
        trial.blind(seen)  # without a memory
        memory = _days(seen[-1], _hour(seen))
        trial.remembered = Remembered(memory)
        finding = trial.fires(seen)
        most = trial.predicted_cost() + NOISE
        resident = _resident(server)
        trial.follow()
        touch_all()
        given_back = resident - _resident(server)
        after_seen, after = _watched(server, lookups)
        smaller = query_number(server, POOL_BYTES)
        trial.remembered = Remembered(_days(after_seen[-1], _hour(after_seen), before=memory))
        trial.silent(after_seen)
        trial.take_back()
    trial.promises.append(
        PromisedLimit(what="pages read", unit="pages per second", before=before, most=most, after=after)
    )
    trial.before |= {
        "hours": DAYS * 24 - MEMORY.warm_up / _HOUR,
        "size": size,
        "size_mib": size / 2**20,
        "freed": size - smaller,
        "unused": unused,
        "unfilled": min(unused * 16_384, size - smaller),
        "first_summary": finding.summary,
        "given_back": max(0.0, given_back),
    }
    trial.after["size"] = smaller
    trial.promises.append(_full_pool(trial))


def _full_pool(trial: RuleTrial) -> PromisedLimit:
    """Rare lookups beside a hot set, over more pages than the pool has."""
    server, chooser = trial.server, random.Random(7)
    pages = list(range(HOT_SPOT + COLD_PAGES))
    chooser.shuffle(pages)

    def lookups(times: int = MIXED) -> None:
        asked = [
            pages[chooser.randrange(HOT_SPOT, len(pages)) if chooser.random() < RARE else chooser.randrange(HOT_SPOT)]
            for _ in range(times)
        ]
        with server.connect() as connection:
            look_up_pages(connection, HOT, asked)

    def settle() -> None:
        # Each page once, for the pool has free pages: at the start, and after MariaDB shrank it (4,900 of 9,100).
        touch_all()
        lookups(SETTLED * MIXED)

    touch_all = with_connection(server, look_up_pages, HOT, pages)
    with emptied(server, {HOT: len(pages)}):
        settle()
        seen, before = _watched(server, lookups)
        memory = _days(seen[-1], _hour(seen))
        trial.remembered = Remembered(memory, MAY_READ)
        trial.fires(seen)
        trial.follow()
        settle()
        after_seen, after = _watched(server, lookups)
        trial.remembered = Remembered(_days(after_seen[-1], _hour(after_seen), before=memory), MAY_READ)
        trial.silent(after_seen)
        trial.take_back()
    # By lookups, for these go on as fast as the machine lets them.
    round_seconds, seconds_after = ((side[-1].at - side[0].at) / ROUNDS for side in (seen, after_seen))
    return PromisedLimit(
        what=f"pages read by {MIXED:,} lookups in a full pool",
        unit="pages",
        before=before * round_seconds,
        most=trial.predicted_cost() * round_seconds,
        after=after * seconds_after,
    )


@CounterProof(
    "buffer-pool-larger-than-needed",
    {"mysql-9.7": _OPTIONS["mysql-9.7"]},
    folklore="by day the hit rate is 100 % and a part of the pool is never filled: it is too large",
    source="widespread advice to size a pool by its working set",
    condition=f"By day rows on {HOT_PAGES:,} pages are looked up. Once a night, from {NIGHT:02}:00 UTC, a table of"
    f" {REPORT_PAGES:,} pages is scanned beside them. The pool holds both, so that no hour reads anything. A"
    f" memory of {DAYS} days is made as in the proof. Without the nights in it the rule advises"
    " {advised:,} bytes.",
    measures=(ComparedFigure("pages read by the report", "pages", "pages"),),
    notes="The worst hour decides, though it is one of 24.",
)
def _nightly_report(trial: RuleTrial) -> None:
    server = trial.server
    touch_all = with_connection(server, look_up_pages, HOT, range(HOT_PAGES))
    lookups = with_connection(server, look_up, HOT, HOT_PAGES, LOOKUPS)
    report = with_connection(server, scan, REPORT)
    with emptied(server, {HOT: HOT_PAGES, REPORT: REPORT_PAGES}):
        touch_all()
        repeat(lookups, 2, PAUSE)
        day, _ = _watched(server, lookups)
        report()
        repeat(lookups, 2, PAUSE)
        night, _ = _watched(server, together(lookups, report))
        quiet = _hour(day)
        trial.remembered = Remembered(_days(night[-1], quiet))
        [change] = trial.fires(night).changes  # the days alone would let it go
        trial.before["advised"] = change.to
        trial.remembered = Remembered(_days(night[-1], quiet, night=_hour(night)))
        trial.silent(night)
        trial.measure(report, 3, pause=LONG_PAUSE)
        trial.follow_folklore(*change.apply)
        repeat(lookups, ROUNDS, PAUSE)
        repeat(report, 2, LONG_PAUSE)
        trial.measure(report, 3, pause=LONG_PAUSE)


@CounterProof(
    "buffer-pool-larger-than-needed",
    {"mysql-9.7": _OPTIONS["mysql-9.7"]},
    folklore="most of the pool is free: it is too large",
    source="widespread advice on dashboards of the pool's free pages",
    condition=f"A server has just started: {{unused:,.0f}} pages of the pool are free, and {LOOKUPS:,} rows a round are"
    f" looked up. Later all {ALL_PAGES:,} pages are needed. The memory of {DAYS} days is of the run before.",
    measures=(ComparedFigure("pages read by a round", "pages", "pages"),),
    notes="Within a warm-up free pages tell how long the server runs, and not what it needs.",
)
def _warm_up(trial: RuleTrial) -> None:
    server = trial.server
    look_up_some = with_connection(server, look_up, REPORT, HOT_PAGES, LOOKUPS)
    touch_all = with_connection(server, look_up_pages, REPORT, range(ALL_PAGES))
    with emptied(server, {REPORT: ALL_PAGES}):
        trial.before["unused"] = pool_statistic(server, "FREE_BUFFERS")
        seen = snapshots(server, lambda: repeat(look_up_some, 1, PAUSE), ROUNDS)
        # The same days would let memory go, if the server were up as long as they say.
        up = LONG_UP.apply(seen)
        trial.remembered = Remembered(_days(up[-1], replace(_hour(up), settled=True)))
        [change] = trial.fires(up).changes
        trial.silent(seen)
        touch_all()
        trial.measure(touch_all, 3, pause=LONG_PAUSE)
        trial.follow_folklore(*change.apply)
        repeat(touch_all, 2, LONG_PAUSE)
        trial.measure(touch_all, 3, pause=LONG_PAUSE)


def _watched(server: PrivateServer, work: Work) -> tuple[tuple[Snapshot, ...], float]:
    """Snapshots of a server that is up for long, and the pages that the lab saw it read a second."""
    before = pages_read(server)
    seen = LONG_UP.apply(snapshots(server, lambda: repeat(work, 1, PAUSE), ROUNDS))
    return seen, (pages_read(server) - before) / (seen[-1].at - seen[0].at)


def _hour(seen: Sequence[Snapshot]) -> Hour:
    """What the sidecar would remember of a window."""
    window, curve = Window.of(seen, LONGEST), None
    with suppress(Unanswerable):
        curve = estimate.curve(seen, LONGEST)
    remembered = hour(window, curve)
    if remembered is None:
        raise NotShown("no smaller pool can be answered for")
    return remembered


def _days(latest: Snapshot, usual: Hour, night: Hour | None = None, before: tuple[Hour, ...] = ()) -> tuple[Hour, ...]:
    """The hours of days up to a snapshot, or of one more day after those before."""
    end, started = latest.at // _HOUR * _HOUR, latest.at - UP_SECONDS
    hours: tuple[Hour, ...] = ()
    for earlier in before:
        hours = with_hour(hours, replace(earlier, at=earlier.at - 24 * _HOUR, started=started))
    for ago in reversed(range(24 if before else DAYS * 24)):
        at = end - ago * _HOUR
        source = night if night and (at / _HOUR - 1) % 24 == NIGHT else usual
        hours = with_hour(hours, replace(source, at=at, seconds=_HOUR, started=started))
    return hours


def _resident(server: PrivateServer) -> float:
    """Memory of the server's process, MiB."""
    memory = memory_mib(server.pid)
    if memory is None:
        raise NotShown("the server has ended")
    return memory


PROOFS = (_pool_twice_the_data,)
COUNTER_PROOFS = (_nightly_report, _warm_up)
