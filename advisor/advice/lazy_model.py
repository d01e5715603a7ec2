"""The model of the LRU list, made when a rule asks it."""

from __future__ import annotations

import math
from collections.abc import Callable

from advisor.advice.fits import Fits
from advisor.facts import Facts
from advisor.observe.window import Window
from advisor.pool.model import PoolModel


class LazyModel:
    """The model of a window.

    Attributes:
        window: What has been watched.
        fits: Of earlier windows: what was fitted to evidence that still stands is not fitted again.
        until: When time is over, by ``time.thread_time``.
    """

    def __init__(self, window: Window, known: Facts, fits: Fits, pause: Callable[[], None]) -> None:
        """The model is not made yet.

        Args:
            window: What has been watched.
            known: Its facts.
            fits: Of earlier windows.
            pause: Called between two simulations.
        """
        self.window, self.fits, self.until = window, fits, math.inf
        self._known, self._pause = known, pause
        self._model: PoolModel | None = None

    @property
    def pool(self) -> PoolModel:
        """The model. It is calibrated when it is first asked."""
        if self._model is None:
            self._model = PoolModel(self.window, self._known, self.fits.loads)
            self._model.pause = self._pause
        self._model.until = self.until
        return self._model
