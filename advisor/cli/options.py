"""What the command line was told, in types: durations, addresses, and which server or recording to look at."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from exporter.connection.target import Target, resolve

DSN_VARIABLE = "INNODB_ADVISOR_DSN"
CONFIG_VARIABLE = "INNODB_ADVISOR_CONFIG"
RULES_VARIABLE = "INNODB_ADVISOR_RULES"
STATE_VARIABLE = "INNODB_ADVISOR_STATE_DIR"
_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Where:
    """Either a recording or a server.

    Attributes:
        recording: The file.
        read: Where the server is and who logs in; files that say so are read anew, for a password may be changed.
    """

    recording: Path | None
    read: Callable[[], Target] | None

    @property
    def server(self) -> Callable[[], Target]:
        """The server, where there is no recording."""
        assert self.read is not None  # noqa: S101 - ``of`` makes sure that there is one of the two
        return self.read

    @classmethod
    def of(
        cls, dsn: str | None, defaults_file: Path | None, password_file: Path | None, recording: Path | None
    ) -> Where:
        """From the options.

        Raises:
            click.UsageError: None or too many of them are given.
            TargetError: One of them cannot be used.
        """
        if recording is not None:
            if dsn or defaults_file or password_file:
                raise click.UsageError("--recording stands alone: it replaces the server")
            return cls(recording, None)
        dsn = dsn or os.environ.get(DSN_VARIABLE) or None
        if dsn is None and defaults_file is None:
            raise click.UsageError(
                f"name a server with --dsn mysql://user@host:port (or ${DSN_VARIABLE}) or --defaults-file, "
                "or a file with --recording"
            )
        read = functools.partial(resolve, dsn, defaults_file, password_file, dict(os.environ))
        read().tls()  # what is wrong with the files is wrong from the start
        return cls(None, read)


class Duration(click.ParamType[float]):
    """``90``, ``60s``, ``5m``, ``1h``: seconds as a float, more than 0."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse; click reports a failure."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", str(value).strip())
        seconds = float(found[1]) * _UNITS[found[2] or ""] if found else 0.0
        if seconds <= 0:
            self.fail(f"{value!r} is not a duration such as 60s, 5m or 1h", param, ctx)
        return seconds


class Interval(Duration):
    """The time between two collections, half of what would be taken for a gap at most."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse; click reports a failure."""
        from advisor.observe.window import LONGEST_GAP  # noqa: PLC0415 - not for --help

        seconds, longest = super().convert(value, param, ctx), LONGEST_GAP / 2
        if seconds > longest:
            why = "rules would take the time between two collections for a gap"
            self.fail(f"{value!r} is longer than {longest:g}s: {why}", param, ctx)
        return seconds


class Size(click.ParamType[int]):
    """``16G``, ``16GiB``, ``17179869184``: bytes, more than 0."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse; click reports a failure."""
        from advisor.rules import configuration  # noqa: PLC0415 - not for --help

        try:
            return configuration.size(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Address(click.ParamType[tuple[str, int]]):
    """``host:port``; ``[::1]:9747`` for IPv6, ``:9747`` for every address."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Parse; click reports a failure."""
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"(?:\[([^\]]*)\]|([^:\[\]]*)):(\d{1,5})", str(value).strip())
        if not found or int(found[3]) > 65535:
            self.fail(f"{value!r} is not an address such as 127.0.0.1:9747", param, ctx)
        return found[1] or found[2] or "", int(found[3])
