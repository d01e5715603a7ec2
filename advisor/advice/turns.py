"""Turns of models on the core: one that somebody waits for goes first."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from advisor.pool.errors import Unanswerable


class Turns:
    """Models in the background stop between two simulations while somebody waits for another model."""

    def __init__(self, *, yields: bool = True) -> None:
        """Nobody waits.

        Args:
            yields: Whether models in the background stop. They must not where models work one after the other, since
                who waits would wait for the one that stopped. Processes of their own need not.
        """
        self._waiting = 0
        self._yields = yields
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
        """In the thread of a model in the background: block while somebody waits for another."""
        if self._yields:
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
