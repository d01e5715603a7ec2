"""An attack on a running sidecar: its bound, and what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from lab.servers import Server


@dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes:
        what: What was measured, such as `p99 of /metrics meanwhile`.
        bound: What is promised, with its figure and unit, such as `idle + 100 ms`.
        measured: What was measured, in the same unit.
        kept: Whether the bound holds.
    """

    what: str
    bound: str
    measured: str
    kept: bool


class Sidecar(Protocol):
    """A running `innodb-advisor serve`."""

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        ...

    @property
    def pid(self) -> int:
        """Its process."""
        ...


class Stage(Protocol):
    """What an attack gets: a server under load, and sidecars on it.

    Attributes:
        server: A MySQL 9.7 with tables and a steady load of readers and writers.
        short: Whether this is CI's short form: fewer and shorter rounds of the same attack.
        say: Takes a progress message.
    """

    server: Server
    short: bool
    say: Callable[[str], None]

    def sidecar(self, *arguments: str, defaults_of: Server | None = None) -> AbstractContextManager[Sidecar]:
        """Start a sidecar on the server (or on another one), ready; it is stopped at the end.

        Raises:
            NotServing: It does not become ready.
        """
        ...


@dataclass(frozen=True)
class Attack:
    """An attack.

    Attributes:
        name: Its name on the command line, such as `abandoned-what-ifs`.
        title: What the attacker does, one line.
        run: The attack; returns the lines of the table.
        seconds: Its approximate seconds, in full and in the short form.
        in_ci: Whether CI makes it in its short form. The others take minutes of waiting, and CI has tests of them.
    """

    name: str
    title: str
    run: Callable[[Stage], Iterable[Line]]
    seconds: tuple[float, float] = (60.0, 20.0)
    in_ci: bool = True
