"""Questions that nobody waits for: asked, and the socket closed at once."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

from lab.attacks import clients, probe
from lab.attacks.attack import Attack, Line, Stage

SECONDS, SHORT_SECONDS = 30.0, 8.0
WHAT_IFS, ADVICE = 20, 44
"""Of a wave; one a second."""
LATER_SECONDS = 5.0
MOST_LATER = 0.5
"""Share of a core that the sidecar may take on average in these seconds after the last wave."""
MOST_ANSWER_SECONDS = 60.0


def _abandoned(stage: Stage) -> Iterator[Line]:
    numbers = itertools.count(1)
    with stage.sidecar("--interval", "1s") as sidecar:
        seconds = SHORT_SECONDS if stage.short else SECONDS
        time.sleep(seconds / 2)
        before = probe.idle(sidecar, seconds / 2)
        with probe.probing(sidecar) as measured:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                for _ in range(WHAT_IFS):
                    number = next(numbers)
                    question = {"set": {"innodb_old_blocks_pct": 5 + number % 90}}
                    clients.abandon(sidecar, clients.request("POST", "/whatif", question), number % 200)
                for _ in range(ADVICE):
                    number = next(numbers)
                    path = f"/advise?window={5 + number / 100}"
                    clients.abandon(sidecar, clients.request("GET", path), number % 200)
                time.sleep(1.0)
        yield from probe.lines(before, measured.latencies, short=stage.short)
        taken = core_seconds(sidecar.pid)
        time.sleep(LATER_SECONDS)
        share = (core_seconds(sidecar.pid) - taken) / LATER_SECONDS
        yield Line(
            "core that the sidecar takes after the last of them",
            f"≤ {MOST_LATER:.0%} of one",
            f"{share:.0%}",
            share <= MOST_LATER,
        )


def _large(stage: Stage) -> Iterator[Line]:
    """The what-if that takes the model longest: every setting at once, and a pool of another size."""
    question = {"set": {"innodb_buffer_pool_size": "1T", "innodb_old_blocks_pct": 5, "innodb_old_blocks_time": 1}}
    with stage.sidecar("--interval", "1s") as sidecar:
        seconds = SHORT_SECONDS if stage.short else SECONDS
        time.sleep(seconds)
        before = probe.idle(sidecar, seconds / 2)
        taken = core_seconds(sidecar.pid)
        with probe.probing(sidecar) as measured:
            began = time.monotonic()
            status = clients.status(sidecar, clients.request("POST", "/whatif", question))
            time.sleep(max(0.0, seconds / 2 - (time.monotonic() - began)))
        time.sleep(0.2)
        yield from probe.lines(before, measured.latencies, short=stage.short)
        took = core_seconds(sidecar.pid) - taken
        yield Line(
            "core seconds of the largest what-if",
            f"≤ {MOST_ANSWER_SECONDS:.0f} s, answered",
            f"{took:.1f} s, {status or 'no answer'}",
            took <= MOST_ANSWER_SECONDS and status is not None,
        )


def core_seconds(pid: int) -> float:
    """CPU time of a process and of its children, those that have ended included (proc_pid_stat(5))."""
    ticks = float(os.sysconf("SC_CLK_TCK"))

    def of(process: int, first: int, last: int) -> float:
        try:
            fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            return 0.0
        return sum(map(int, fields[first:last])) / ticks

    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return of(pid, 11, 15) + sum(of(int(child), 11, 13) for child in children)


def _storm(stage: Stage) -> Iterator[Line]:
    """Everything that takes work and is refused in the end."""
    asked = (
        lambda n: clients.request("GET", f"/advise/{n:016x}?window={1 + n / 1000}"),
        lambda _: clients.request("POST", "/-/reload"),
        lambda _: clients.request("POST", "/whatif", {"set": {"innodb_old_blocks_pct": 96}}),
        lambda _: clients.request("GET", "/curve", headers={"Accept": 'a/b;c="' + '\\"' * 7000}),
    )
    with stage.sidecar() as sidecar:
        seconds = SHORT_SECONDS if stage.short else SECONDS
        before = probe.idle(sidecar, seconds / 2)
        statuses: dict[int | None, int] = {}
        with probe.probing(sidecar) as measured:
            until = time.monotonic() + seconds
            for number in itertools.count(1):
                if time.monotonic() > until:
                    break
                status = clients.status(sidecar, asked[number % len(asked)](number), number % 200)
                statuses[status] = statuses.get(status, 0) + 1
        yield from probe.lines(before, measured.latencies, short=stage.short)
        told = ", ".join(f"{count} × {status or 'closed'}" for status, count in statuses.items())
        yield Line("answers to it", "limited: some 429", told, 429 in statuses)


ATTACKS = (
    Attack(
        "abandoned",
        "asks 20 what-ifs and for 44 windows of advice a second, and hangs up at once",
        _abandoned,
        (70.0, 25.0),
    ),
    Attack("large-what-if", "asks the model what takes it longest", _large, (70.0, 25.0)),
    Attack("refused-work", "asks, from 200 addresses, for what is refused only after some work", _storm, (60.0, 20.0)),
)
