"""Why a question has no answer."""

from __future__ import annotations


class Refused(ValueError):
    """A change that the server would not take, or that the model has no answer for."""


class Unanswerable(Exception):
    """The model cannot be fitted; ``lacks`` names what is not known."""

    def __init__(self, lacks: str, reason: str) -> None:
        super().__init__(reason)
        self.lacks = lacks
