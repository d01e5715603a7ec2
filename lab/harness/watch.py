"""The sidecar's own sampler on a real server, and the rules that judge what it saw."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
import time
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

from advisor.advice import evaluation
from advisor.advice.interpreter import Remembered, evaluate
from advisor.contract.recommendation import Advice, Recommendation
from advisor.observe.limits import LEAST_SECONDS
from advisor.observe.window import Window
from advisor.rules.check import Rule, load
from exporter.connection.errors import ServerError
from exporter.connection.target import from_dsn
from exporter.sampling.sampler import Sampler
from exporter.snapshot import ConfiguredMachine, Snapshot
from lab.harness.measure import PAGES, Counters, Figures, Work, WorkMeter
from lab.packages.cache import REPOSITORY
from lab.servers import PrivateServer

RULES_FOLDER = REPOSITORY / "rules"
LONGEST = 3600.0
"""Seconds of a window, as the service takes by default."""
PATIENCE = 180.0
"""A rule's time budget, seconds: a verdict must not depend on other work on the machine."""
_RECONNECTIONS, _RECONNECTION_SECONDS = 20, 0.2
Answer = TypeVar("Answer")


@functools.cache
def rules() -> tuple[Rule, ...]:
    """The built-in rules."""
    return load(RULES_FOLDER)


def the_rule(name: str) -> Rule:
    """A built-in rule."""
    return next(rule for rule in rules() if rule.id == name)


def judge(
    window: Window,
    judging: Iterable[Rule] | None = None,
    *,
    findings: Sequence[Recommendation] = (),
    remembered: Remembered | None = None,
) -> Advice:
    """What these rules, or all, say of a window, on a machine however slow.

    Args:
        window: The window.
        judging: The rules; None for all.
        findings: Those that were already there.
        remembered: The memory of days; None where the sidecar has none.
    """
    patient = [rule.with_budget(PATIENCE) for rule in judging or rules()]
    return evaluation.advise(patient, window, beside=rules(), findings=findings, remembered=remembered)


def reasons(rule: Rule, window: Window) -> str:
    """Why a rule is silent: each condition that does not hold."""
    trace = evaluate([rule.with_budget(PATIENCE)], window, beside=rules(), every_reason=True)
    return "; ".join(reason for evaluated in trace for reason in evaluated.reasons)


class SidecarSampler:
    """The sidecar's sampler beside a load; a context manager.

    Its loop runs in a thread, so that it samples the parallel readers while clients work.

    Args:
        server: The server.
        user: The sidecar's account.
        machine: What the operator configured of the machine.
        interval: Least seconds between two snapshots of the history.
        arguments: Further ones of `Sampler`, such as ``keep``.
    """

    def __init__(
        self,
        server: PrivateServer,
        user: str = "root",
        machine: ConfiguredMachine | None = None,
        *,
        interval: float = 1.0,
        **arguments: Any,
    ) -> None:
        target = replace(from_dsn(server.dsn), user=user)
        self._sampler = Sampler(target, interval=interval, machine=machine, **arguments)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._sampler.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def collect(self) -> None:
        """One collection. After a restart of the server it connects again."""
        for _ in range(_RECONNECTIONS):
            with contextlib.suppress(ServerError):
                self._run(self._sampler.collect())
                return
            time.sleep(_RECONNECTION_SECONDS)
        self._run(self._sampler.collect())

    @property
    def history(self) -> tuple[Snapshot, ...]:
        """All snapshots so far."""
        return tuple(self._sampler.history)

    def window(self, snapshots: int) -> Window:
        """The window of the newest snapshots."""
        return Window.of(self.history[-snapshots:], longest=LONGEST)

    def _run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def snapshots(
    server: PrivateServer,
    work: Work,
    times: int,
    *,
    user: str = "root",
    machine: ConfiguredMachine | None = None,
) -> tuple[Snapshot, ...]:
    """Run the work several times, with a collection before the first and after each.

    Where the work is done in less than LEAST_SECONDS, a last collection follows.
    """
    with SidecarSampler(server, user, machine) as sidecar:
        sidecar.collect()
        for _ in range(times):
            work()
            sidecar.collect()
        missing = LEAST_SECONDS - (sidecar.history[-1].at - sidecar.history[0].at)
        if missing > 0:  # no rule judges a shorter window
            time.sleep(missing)
            sidecar.collect()
        return sidecar.history


def watch(
    server: PrivateServer,
    work: Work,
    times: int,
    *,
    counters: Counters = PAGES,
    pause: float = 0.0,
    pieces: float = 1.0,
    machine: ConfiguredMachine | None = None,
) -> tuple[tuple[Snapshot, ...], Figures]:
    """Measure the work as `measure` does, while the sidecar watches; its snapshots, and the figures."""
    meter = WorkMeter(server, work, counters, pause)
    seen = snapshots(server, meter, times, machine=machine)
    return seen, meter.figures(pieces)


def observed_window(server: PrivateServer, work: Work, times: int, user: str = "root") -> Window:
    """The window of these snapshots."""
    return Window.of(snapshots(server, work, times, user=user), longest=LONGEST)
