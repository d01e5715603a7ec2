"""A model worker that tests hold in their hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from advisor.advice.model_worker import ModelWorker
from advisor.pool.fitting import Loads

Answer = TypeVar("Answer")


class HeldWorker(ModelWorker):
    """Answers in this process, while it is free.

    Attributes:
        asked: For each question so far, whether no reader waited for it.
        free: Whether it answers.
        failure: What it raises in place of an answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[bool] = []
        self.free = asyncio.Event()
        self.free.set()
        self.failure: Exception | None = None

    async def ask(self, question: Callable[[Loads], Answer], *, background: bool = False) -> Answer:
        self.asked.append(background)
        await self.free.wait()
        if self.failure is not None:
            raise self.failure
        return question(self.loads)
