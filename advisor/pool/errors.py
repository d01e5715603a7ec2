"""Why a question has no answer."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from advisor.models.lru.instance import TooManySteps

log = logging.getLogger(__name__)

ACCEPTED_ERROR = 0.15
"""Of a prediction, relative to today's reads: from here on the confidence falls."""


def confidence(error: float) -> float:
    """1 within the accepted error, and less beyond it."""
    return min(1.0, ACCEPTED_ERROR / error) if error else 1.0


class Refused(ValueError):
    """A change that the server would not take, or that the model has no answer for."""


class Unanswerable(Exception):
    """The model cannot be fitted; ``lacks`` names the missing section, fact or time."""

    def __init__(self, lacks: str, reason: str) -> None:
        super().__init__(reason)
        self.lacks = lacks

    def __reduce__(self) -> tuple[type[Unanswerable], tuple[str, str]]:
        """For pickle, which would give the reason alone."""
        return Unanswerable, (self.lacks, str(self))


@contextlib.contextmanager
def answerable() -> Iterator[None]:
    """Errors of a model become Unanswerable, so that they stop nothing else."""
    try:
        yield
    except TooManySteps as error:
        raise Unanswerable("time", str(error)) from error
    except (ArithmeticError, ValueError) as error:
        log.exception("the model failed")
        raise Unanswerable("model", f"the model failed: {error}") from error
