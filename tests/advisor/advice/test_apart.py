"""Work in a process of its own: its result, its errors, and its end."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from advisor.advice import apart
from advisor.advice.apart import ModelProcesses, in_process
from advisor.pool.errors import Refused, Unanswerable
from tests.waiting import until


async def test_it_hands_back_its_result_and_changes_nothing_else() -> None:
    here: list[int] = []

    def work() -> tuple[int, int]:
        here.append(1)
        return os.getpid(), len(b"x" * 5_000_000)

    worker, length = await in_process(work)
    assert worker != os.getpid()
    assert length == 5_000_000
    assert here == []


@pytest.mark.parametrize("error", [Refused("no such setting"), Unanswerable("model", "it does not fit")])
async def test_it_raises_what_the_work_raises(error: Exception) -> None:
    def work() -> None:
        raise error

    with pytest.raises(type(error), match=str(error)) as raised:
        await in_process(work)
    assert vars(raised.value) == vars(error)


async def test_it_has_none_of_its_parents_connections(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        number = file.fileno()
        assert await in_process(lambda: Path(f"/proc/self/fd/{number}").exists()) is False


async def test_it_is_killed_when_nobody_waits_for_it() -> None:
    def work() -> None:
        while True:
            time.sleep(1)

    before = children()
    asked = asyncio.create_task(in_process(work))
    await until(lambda: children() != before)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await until(lambda: children() == before)


async def test_it_is_ended_by_the_kernel_when_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "CORE_SECONDS", 1)

    def work() -> None:
        while True:
            pass

    with pytest.raises(Unanswerable, match="it takes more than 1 s of a core"):
        await in_process(work)


async def test_it_is_ended_when_it_waits_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "WALL_SECONDS", 0.2)
    before = children()

    def work() -> None:
        never = threading.Lock()
        never.acquire()
        never.acquire()

    with pytest.raises(Unanswerable, match=r"it has no answer after 0\.2 s") as raised:
        await in_process(work)
    assert raised.value.lacks == "time"
    await until(lambda: children() == before)


async def test_garbage_in_cycles_is_collected_while_it_works() -> None:
    def work() -> int:
        before_work = int(gc.get_stats()[0]["collections"])
        for _ in range(20):
            ring: list[list[object]] = [[] for _ in range(5_000)]
            for before, after in pairwise([*ring, ring[0]]):
                before.append(after)
        return int(gc.get_stats()[0]["collections"]) - before_work

    assert await in_process(work) > 0


async def test_a_process_begins_when_there_is_room_for_it(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def work() -> None:
        for word in ("begins", "ends"):
            with log.open("a") as file:
                file.write(f"{word}\n")
            time.sleep(0.1)

    apart = ModelProcesses(1)
    await asyncio.gather(*[apart(work) for _ in range(3)])
    assert log.read_text().split() == ["begins", "ends"] * 3


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())
