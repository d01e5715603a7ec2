"""Advice that is followed by hand under load, while the ledger watches and the lab counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from advisor.advice import evaluation
from advisor.advice.interpreter import evaluate
from advisor.contract.recommendation import Advice
from advisor.ledger.entry import Outcome, Result
from advisor.ledger.ledger import Ledger
from advisor.ledger.settling import LIMIT
from advisor.observe.window import Window
from exporter.snapshot import Snapshot
from lab.harness.follow import Following
from lab.harness.records import NotShown, Part
from lab.harness.watch import rules, snapshots
from lab.outcomes.loads import OPTIONS, SERVERS, Playing, Workload
from lab.outcomes.record import GROUP, OutcomeRecord
from lab.servers import Server
from lab.servers.sql import global_status

WINDOW = 8.0
"""Seconds of a window that counts as one, in place of five minutes: the loads are steady within seconds."""
PERIOD = 0.5
"""Seconds between two collections."""
WARM_UP, BEFORE, SETTLING, AFTER = 2, 5, 2, 4
"""Windows: of the load alone, watched before the change, and after it until the lab counts and while it does."""
PATIENCE = 60.0
"""A rule's time budget, seconds."""
Say = Callable[[str], None]


def parts(workload: Workload) -> list[Part]:
    """One for each server."""
    windows = WARM_UP + BEFORE + (LIMIT if workload.with_batch else SETTLING + AFTER)
    return [
        Part(
            GROUP,
            f"{workload.name}, {server}",
            server,
            OPTIONS[server],
            lambda running, say: trial(workload, running, say).model_dump(mode="json"),
            15.0 + windows * WINDOW,
        )
        for server in SERVERS
    ]


def trial(workload: Workload, server: Server, say: Say) -> OutcomeRecord:
    """Watch a load, follow the advice by hand, and watch what becomes of it.

    Raises:
        NotShown: The rule does not fire, or the outcome stays open.
    """
    say("its tables are made")
    with workload.play(server) as playing:
        say("the load begins")
        time.sleep(WARM_UP * WINDOW)
        watch = _Watch(server, playing)
        say("before the change")
        before = watch.watch(BEFORE)
        advice = _advice(workload, watch.history)
        say("the advice is followed")
        advised, following = len(watch.history), Following(server)
        following.follow(advice.recommendations[0].changes)
        if workload.with_batch:
            playing.batch()
        watch.watch(SETTLING)
        after = watch.watch(AFTER)
        outcome, windows = _outcome(watch.history, advised, advice), SETTLING + AFTER
        while outcome.result is Result.OPEN and windows <= LIMIT:
            say("the outcome is open")
            watch.watch(1)
            outcome, windows = _outcome(watch.history, advised, advice), windows + 1
    if outcome.result is Result.OPEN:
        raise NotShown(f"the outcome is open: {outcome.why}")
    pace = 1.0 if workload.per_work else before.per_second
    return OutcomeRecord(
        about=workload.about,
        applied=tuple(following.applied),
        outcome=outcome,
        counted=(before.pages * pace, after.pages * pace),
        windows=round(((outcome.closed_at or outcome.at) - outcome.at) / WINDOW, 2),
        comparable=not workload.with_batch,
    )


class _Counted:
    """What the lab counted: pages that the server read for a piece of work, and pieces of work a second."""

    def __init__(self, pages: float, done: int, seconds: float) -> None:
        if not done:
            raise NotShown(f"no work was done in {seconds:.0f} s")
        self.pages, self.per_second = pages / done, done / seconds


class _Watch:
    """The sidecar's snapshots, and the lab's count beside them."""

    def __init__(self, server: Server, playing: Playing) -> None:
        self._server, self._playing = server, playing
        self.history: list[Snapshot] = []

    def watch(self, windows: int) -> _Counted:
        """Watch for so many windows."""
        began, done, pages = time.monotonic(), self._playing.count.done, self._read()
        self.history += snapshots(self._server, partial(time.sleep, PERIOD), round(windows * WINDOW / PERIOD))
        return _Counted(self._read() - pages, self._playing.count.done - done, time.monotonic() - began)

    def _read(self) -> float:
        """Pages that the server has read, by its status: the sidecar reads another table."""
        return global_status(self._server, "Innodb_pages_read")


def _advice(workload: Workload, history: Sequence[Snapshot]) -> Advice:
    [rule] = [each.with_budget(PATIENCE) for each in rules() if each.id == workload.rule]
    window = Window.of(history, float("inf"))
    trace = list(evaluate([rule], window, beside=rules(), every_reason=True))
    advice = evaluation.advice(trace, window)
    if len(advice.recommendations) != 1:
        why = [reason for each in trace for reason in each.reasons]
        raise NotShown(f"{workload.rule} fires {len(advice.recommendations)} times: {why or advice}")
    return advice


def _outcome(history: Sequence[Snapshot], advised: int, advice: Advice) -> Outcome:
    """What the ledger says in the end, with the advice from so many snapshots on."""
    ledger = Ledger(window_seconds=WINDOW)
    for count in range(advised, len(history) + 1):
        ledger, _ = ledger.observe(history[:count], advice)
    if len(ledger.outcomes) != 1:
        raise NotShown(f"{len(ledger.outcomes)} outcomes of one change")
    return next(iter(ledger.outcomes.values()))
