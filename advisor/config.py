"""What the command line was told, in types: durations, addresses, and which server or recording to look at."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from advisor import configuration
from advisor.window import LONGEST_GAP
from exporter.target import Target, resolve

DSN_VARIABLE = "INNODB_ADVISOR_DSN"
CONFIG_VARIABLE = "INNODB_ADVISOR_CONFIG"
RULES_VARIABLE = "INNODB_ADVISOR_RULES"
_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Where:
    """Either a recording or a server."""

    recording: Path | None
    target: Target | None

    @property
    def server(self) -> Target:
        """The server, where there is no recording."""
        assert self.target is not None  # noqa: S101 - ``of`` makes sure that there is one of the two
        return self.target

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
        target = resolve(dsn, defaults_file, password_file, os.environ)
        target.tls()  # what is wrong with its files is wrong from the start
        return cls(None, target)


class Duration(click.ParamType[float]):
    """``90``, ``60s``, ``5m``, ``1h``: seconds as a float, more than 0."""

    name = "duration"
    longest = float("inf")
    too_long = ""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse; click reports a failure."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", str(value).strip())
        seconds = float(found[1]) * _UNITS[found[2] or ""] if found else 0.0
        if seconds <= 0:
            self.fail(f"{value!r} is not a duration such as 60s, 5m or 1h", param, ctx)
        if seconds > self.longest:
            self.fail(f"{value!r} is longer than {self.longest:g}s: {self.too_long}", param, ctx)
        return seconds


class Interval(Duration):
    """The time between two collections, half of what would be taken for a gap at most."""

    longest = LONGEST_GAP / 2
    too_long = "rules would take the time between two collections for a gap"


class Size(click.ParamType[int]):
    """``16G``, ``16GiB``, ``17179869184``: bytes, more than 0."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse; click reports a failure."""
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
