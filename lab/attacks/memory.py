"""Memory: a sidecar that a container gives 64 MiB."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from lab.attacks import probe
from lab.attacks.attack import Attack, Line, Sidecar, Stage
from lab.bench import exporters
from lab.packages import cache
from lab.processes.service import PLAIN, NotServing, run_service
from lab.processes.usage import memory_mib
from lab.servers import Server

LIMIT_MIB = 64
USE_SECONDS, SHORT_USE_SECONDS = 3600.0, 15.0
PROBED_SECONDS, SHORT_PROBED_SECONDS = 60.0, 10.0
"""Of use beside the probe, after that."""
_V1 = Path("/sys/fs/cgroup/memory")
_V2 = Path("/sys/fs/cgroup")
_PAUSE_SECONDS = 0.5
_PATHS = (
    "/",
    "/overview",
    "/series",
    "/events",
    "/state",
    "/advise",
    "/advise?last=true",
    "/curve",
    "/history",
    "/rules",
    "/metrics",
)
"""What an open page asks for, and a scraper."""
READY_SECONDS, ENOUGH_SECONDS = 30.0, 180.0
_SERVING = re.compile(r"serving on http://127\.0\.0\.1:(\d+)/")
_WHAT_IF = {"set": {"innodb_buffer_pool_size": 512 << 20}}


@dataclass(frozen=True)
class _Running:
    """A running sidecar, as `Sidecar` has it."""

    url: str
    pid: int


def _limited(stage: Stage) -> Iterator[Line]:
    """Pages and what-ifs in use, in a control group that has 64 MiB."""
    with contextlib.ExitStack() as stack:
        try:
            group = stack.enter_context(_group(LIMIT_MIB << 20))
        except OSError as error:
            yield Line(
                f"{LIMIT_MIB} MiB in all", "no kill", f"skipped: no memory cgroup here ({error.strerror})", kept=True
            )
            return
        sidecar = stack.enter_context(_inside(group, stage.server, "1s" if stage.short else "10s"))
        unanswered = _unanswered(sidecar)
        before = probe.idle(sidecar, SHORT_PROBED_SECONDS)
        statuses = _use(sidecar, SHORT_USE_SECONDS if stage.short else USE_SECONDS)
        with probe.probing(sidecar) as measured:
            statuses += _use(sidecar, SHORT_PROBED_SECONDS if stage.short else PROBED_SECONDS)
        killed, held = _kills(group), memory_mib(sidecar.pid, "RssAnon")
    asked = sum(statuses.values())
    others = {answer: count for answer, count in statuses.items() if answer.split()[-1] not in ("200", "429")}
    told = ", ".join(f"{count} × {status}" for status, count in others.items())
    yield Line("what-ifs and miss curves are answered", "both", unanswered or "both", not unanswered)
    yield Line("kills for want of memory", "0", str(killed), not killed and held is not None)
    yield Line("answers that are neither 200 nor 429", "0", told or f"0 of {asked}", bool(asked) and not others)
    size = "it has ended" if held is None else f"{held:.1f} MiB"
    yield Line("anonymous memory at the end", f"≤ {LIMIT_MIB} MiB", size, held is not None and held <= LIMIT_MIB)
    yield from probe.lines(before, measured.latencies, short=stage.short)


def _unanswered(sidecar: Sidecar) -> str:
    """Why one of them is not answered, after it was given time to see enough; empty where both are."""
    deadline = time.monotonic() + ENOUGH_SECONDS
    with httpx.Client(base_url=sidecar.url, timeout=60, **PLAIN) as client:
        while True:
            answers = (client.post("/whatif", json=_WHAT_IF), client.get("/curve"))
            refused = [each.json()["detail"] for each in answers if each.status_code != httpx.codes.OK]
            if not refused or time.monotonic() > deadline:
                return "; ".join(refused)
            time.sleep(2.0)


def _use(sidecar: Sidecar, seconds: float) -> Counter[str]:
    """How many answers there were of each path and status, or name of the failure."""
    statuses: Counter[str] = Counter()
    deadline = time.monotonic() + seconds
    with httpx.Client(base_url=sidecar.url, timeout=60, **PLAIN) as client:
        while time.monotonic() < deadline:
            for path in _PATHS:
                statuses[f"{path} {_status(client, 'GET', path)}"] += 1
            statuses[f"/whatif {_status(client, 'POST', '/whatif', json=_WHAT_IF)}"] += 1
            time.sleep(_PAUSE_SECONDS)
    return statuses


def _status(client: httpx.Client, method: str, path: str, **options: object) -> str:
    try:
        return str(client.request(method, path, **options).status_code)  # type: ignore[arg-type]  # json alone
    except httpx.TransportError as error:
        return type(error).__name__


@contextlib.contextmanager
def _inside(group: Path, server: Server, interval: str) -> Iterator[_Running]:
    """A sidecar that is in the control group before it takes its first page.

    Raises:
        NotServing: It does not become ready.
    """
    exporters.create_accounts(server)
    serve = [sys.executable, "-m", "advisor.cli", "serve", "--listen", "127.0.0.1:0"]
    where = ["--dsn", f"mysql://{exporters.OURS}@{server.host}:{server.port}"]
    enter = ["/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
    environment = {"PYTHONPATH": str(cache.REPOSITORY)}
    with (
        tempfile.TemporaryDirectory(prefix="innodb-advisor-attacks-") as folder,
        run_service(
            "serve", [*enter, *serve, *where, "--interval", interval], environment, Path(folder) / "log", _SERVING
        ) as started,
    ):
        running = _Running(f"http://127.0.0.1:{started.port}", started.pid)
        deadline = time.monotonic() + READY_SECONDS
        while httpx.get(f"{running.url}/readyz", timeout=READY_SECONDS, **PLAIN).status_code != httpx.codes.OK:
            if time.monotonic() > deadline:
                raise NotServing(f"innodb-advisor serve was not ready within {READY_SECONDS:g} s")
            time.sleep(0.1)
        yield running


@contextlib.contextmanager
def _group(limit: int) -> Iterator[Path]:
    """A control group with a limit of memory, swap included; removed at the end.

    Raises:
        OSError: None can be made here.
    """
    group = (_V1 if _V1.is_dir() else _V2) / f"innodb-advisor-{os.getpid()}"
    group.mkdir()
    try:
        _limit(group, limit)
        yield group
    finally:
        _remove(group)


def _limit(group: Path, limit: int) -> None:
    name = "memory.limit_in_bytes" if _V1.is_dir() else "memory.max"
    (group / name).write_text(str(limit))


def _remove(group: Path) -> None:
    deadline = time.monotonic() + 10.0
    while True:
        try:
            group.rmdir()  # busy while a process in it is ending
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def _kills(group: Path) -> int:
    """How often the kernel killed in it."""
    told = (group / ("memory.oom_control" if _V1.is_dir() else "memory.events")).read_text()
    return next(int(line.split()[1]) for line in told.splitlines() if line.startswith("oom_kill "))


ATTACKS = (
    Attack(
        "memory-limit",
        "two pages and what-ifs in use for an hour (short: 15 s), in a container of 64 MiB",
        _limited,
        (3750.0, 60.0),
    ),
)
