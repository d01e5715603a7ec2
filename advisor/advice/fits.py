"""What models were fitted to one server, kept from one question to the next.

The sidecar keeps it as bytes: whoever asks a model does so in a process of its own (apart.py).
"""

from __future__ import annotations

import functools
import pickle

from advisor.pool.fitting import Loads


class Kept:
    """The fits between questions, as bytes.

    Of two questions at once the later answer stays: the other's fit is made again when it is needed.
    """

    def __init__(self, fits: bytes = b"") -> None:
        """Nothing is kept yet.

        Args:
            fits: As ``Fits.kept`` returned them.
        """
        self.fits = fits

    def keep(self, fits: bytes | None) -> None:
        """Keep what ``Fits.kept`` returned."""
        if fits is not None:
            self.fits = fits


class Fits:
    """The fits of one question, as objects once a model is asked."""

    def __init__(self, before: Kept | None = None) -> None:
        """No model was asked yet.

        Args:
            before: Those of earlier questions.
        """
        self._before = before or Kept()
        self._asked = False

    @functools.cached_property
    def loads(self) -> Loads:
        """The loads of the pool's model."""
        self._asked = True
        if self._before.fits:
            found: Loads = pickle.loads(self._before.fits)  # noqa: S301 - our own
            return found
        return Loads()

    def kept(self) -> bytes | None:
        """Those of earlier questions and of this one; None where no model was asked."""
        return pickle.dumps(self.loads) if self._asked else None
