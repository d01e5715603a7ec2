"""The model worker: an answer, an error, and the end of its process."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest

from advisor.advice.model_worker import ModelWorker
from advisor.pool.errors import Refused, Unanswerable
from advisor.pool.fitting import Loads
from advisor.pool.what_if import what_if
from tests.advisor.building import RECORDING, captured
from tests.waiting import until


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def never(_: Loads) -> None:
    """Wait for ever, and take no core."""
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def busy(_: Loads) -> None:
    """Take a core for ever."""
    while True:
        pass


async def test_a_process_of_its_own_answers_and_changes_nothing_else() -> None:
    here: list[int] = []

    def question(_: Loads) -> tuple[int, int]:
        here.append(1)
        return os.getpid(), len(b"x" * 5_000_000)

    process, length = await ModelWorker().ask(question)
    assert process != os.getpid()
    assert (length, here) == (5_000_000, [])


@pytest.mark.parametrize("error", [Refused("no such setting"), Unanswerable("model", "it does not fit")])
async def test_an_error_of_the_question_is_raised(error: Exception) -> None:
    def question(_: Loads) -> None:
        raise error

    with pytest.raises(type(error), match=str(error)) as raised:
        await ModelWorker().ask(question)
    assert vars(raised.value) == vars(error)


async def test_a_load_that_was_fitted_is_there_for_the_next_question() -> None:
    worker, window = ModelWorker(), captured(RECORDING)
    fitted = await worker.ask(lambda loads: what_if(window, {"innodb_old_blocks_pct": 80}, loads))
    assert fitted == what_if(window, {"innodb_old_blocks_pct": 80}, worker.loads)

    def question(loads: Loads) -> None:
        what_if(window, {"innodb_old_blocks_pct": 80}, loads)
        raise Refused("after a fit")

    worker = ModelWorker()
    before = worker.loads
    with pytest.raises(Refused):
        await worker.ask(question)
    assert worker.loads is not before


async def test_the_process_has_none_of_its_parents_connections(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as file:
        number = file.fileno()
        assert await ModelWorker().ask(lambda _: Path(f"/proc/self/fd/{number}").exists()) is False


async def test_it_is_killed_when_nobody_waits_for_it() -> None:
    before = children()
    asked = asyncio.create_task(ModelWorker().ask(never))
    await until(lambda: children() != before)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await until(lambda: children() == before)


async def test_the_kernel_ends_it_when_it_takes_too_much_of_a_core() -> None:
    with pytest.raises(Unanswerable, match="it takes more than 1 s of a core, or too much memory") as raised:
        await ModelWorker(core_seconds=1).ask(busy)
    assert raised.value.lacks == "time"


async def test_it_is_ended_when_it_waits_too_long() -> None:
    before = children()
    with pytest.raises(Unanswerable, match=r"it has no answer after 0\.2 s") as raised:
        await ModelWorker(wall_seconds=0.2).ask(never)
    assert raised.value.lacks == "time"
    await until(lambda: children() == before)


async def test_it_is_the_first_to_go_when_memory_runs_out() -> None:
    assert await ModelWorker().ask(lambda _: Path("/proc/self/oom_score_adj").read_text().strip()) == "1000"


async def test_readers_are_answered_one_at_a_time_and_wait_for_nothing_in_the_background(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def question(_: Loads) -> None:
        for word in ("begins", "ends"):
            with log.open("a") as file:
                file.write(f"{word}\n")
            time.sleep(0.01)

    worker = ModelWorker()
    background = asyncio.create_task(worker.ask(never, background=True))
    await asyncio.gather(*(worker.ask(question) for _ in range(3)))
    assert log.read_text().split() == ["begins", "ends"] * 3
    assert not background.done()
    background.cancel()
