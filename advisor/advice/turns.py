"""Turns of models on the core: one that somebody waits for goes first."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from advisor.whatif.errors import Unanswerable


class Turns:
    """Models in the background stop between two simulations while somebody waits for another model."""

    def __init__(self) -> None:
        self._waiting = 0
        self._process = os.getpid()
        self._free = threading.Event()
        self._free.set()

    @contextlib.contextmanager
    def first(self) -> Iterator[None]:
        """Somebody waits for a model. Call it in one thread only, the event loop's."""
        self._waiting += 1
        self._free.clear()
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._free.set()

    def wait(self) -> None:
        """In the thread of a model in the background: block while somebody waits for another.

        A fork (apart.py) goes on: it takes no core from anybody in this process, and nobody would wake it.
        """
        if os.getpid() == self._process:
            self._free.wait()


class Turn:
    """The turn of one evaluation: a pause for its model, until it is called off."""

    def __init__(self, turns: Turns | None) -> None:
        """It goes on.

        Args:
            turns: It yields in these; None where somebody waits for it.
        """
        self._turns = turns
        self._over = False

    def call_off(self) -> None:
        """What it evaluates is outdated: its model ends at the next simulation."""
        self._over = True

    def pause(self, *, wait: bool = True) -> None:
        """Between two simulations.

        Args:
            wait: False where somebody waits for it.

        Raises:
            Unanswerable: It was called off.
        """
        if wait and self._turns is not None:
            self._turns.wait()
        if self._over:
            raise Unanswerable("time", "the server, its settings or the rules changed meanwhile")
