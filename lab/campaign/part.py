"""A part of an experiment or a proof, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.servers import Server

Data = Mapping[str, Any]
"""What a part found: whatever JSON can hold."""


class NotShown(Exception):
    """The server did not do what it should; the text says what was expected and what was seen."""


class NotNow(Exception):
    """The machine is not as the part needs it to be, such as idle; the text says what it is."""


@dataclass(frozen=True)
class Part:
    """One server's share of an experiment or a proof.

    Attributes:
        group: What it belongs to, such as `experiments/E3` or `proofs/old-blocks-time-zero`.
        name: Which part, such as `mysql-5.6, pct 37`; it has the server's name in it.
        server: Which server it runs on, one of `lab.servers.NAMES`.
        options: What that is started with.
        run: Does it: takes the running server, and something that says what is being done. Raises `NotShown` or
            `NotNow`.
        takes: About how many seconds, for the progress bar.
    """

    group: str
    name: str
    server: str
    options: Mapping[str, str]
    run: Callable[[Server, Callable[[str], None]], Data]
    takes: float = 30.0

    @property
    def subject(self) -> str:
        """The experiment's or the rule's id."""
        return self.group.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.subject}: {self.name}"


@dataclass(frozen=True)
class PartResult:
    """A part's result, and where it comes from."""

    part: Part
    server: str
    version: str
    seconds: float
    attempts: int
    data: Data

    def record(self) -> dict[str, Any]:
        """As it stands in a record file."""
        return {
            "server": self.server,
            "version": self.version,
            "seconds": round(self.seconds, 1),
            "attempts": self.attempts,
            "data": self.data,
        }
