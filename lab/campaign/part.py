"""A part of an experiment or a proof, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.servers import Server

Data = Mapping[str, Any]
"""A part's measurements: any JSON object."""


class NotShown(Exception):
    """The server did not behave as expected; the text says what was expected and what was seen."""


class NotNow(Exception):
    """The machine is not in the state that the part needs, such as idle; the text says its state."""


@dataclass(frozen=True)
class Part:
    """One server's share of an experiment or a proof.

    Attributes:
        group: Its experiment or proof, such as `experiments/E3` or `proofs/old-blocks-time-zero`.
        name: Its name, such as `mysql-5.6, pct 37`; it contains the server's name.
        server: Its server, one of `lab.servers.NAMES`.
        options: The server's options.
        run: The work. Takes the running server and a function for progress messages. Raises `NotShown` or `NotNow`.
        takes: Its approximate seconds, for the progress bar.
        origin: Makes a data folder whose copy the server starts on; None for one without data.
        version: Of the part: a result of another one is not reused.
    """

    group: str
    name: str
    server: str
    options: Mapping[str, str]
    run: Callable[[Server, Callable[[str], None]], Data]
    takes: float = 30.0
    origin: Callable[[], Path] | None = None
    version: str = ""

    @property
    def subject(self) -> str:
        """The experiment's or the rule's id."""
        return self.group.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.subject}: {self.name}"


@dataclass(frozen=True)
class PartResult:
    """A part's measurements, with their origin."""

    part: Part
    server: str
    version: str
    seconds: float
    attempts: int
    data: Data

    def record(self) -> dict[str, Any]:
        """Its entry in a record file."""
        return {
            "server": self.server,
            "version": self.version,
            "seconds": round(self.seconds, 1),
            "attempts": self.attempts,
            "data": self.data,
        }
