"""Parameter types: durations, sizes, addresses, settings."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import click

from advisor.files.sizes import size
from advisor.observe.limits import LONGEST_GAP

_LEAST_MULTIPLE, _MOST_MULTIPLE, _MOST_MULTIPLES = 0.01, 100.0, 20
"""Multiples of a size, and how many of them: each takes the model a while."""
_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


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
    """The time between two collections; at most half of the gap that ends a window."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse; click reports a failure."""
        seconds, longest = super().convert(value, param, ctx), LONGEST_GAP / 2
        if seconds > longest:
            why = "rules would take the time between two collections for a gap"
            self.fail(f"{value!r} is longer than {longest:g}s: {why}", param, ctx)
        return seconds


class Since(click.ParamType[float]):
    """``90m``, ``12h``, ``7d``: so many seconds ago, as a negative float; ``2026-11-23T08:00`` (UTC): Unix seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse; click reports a failure."""
        if isinstance(value, float):
            return value
        written = str(value).strip()
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhd])", written)
        if found:
            return -float(found[1]) * {**_UNITS, "d": 86_400.0}[found[2]]
        try:
            at = datetime.fromisoformat(written)
        except ValueError:
            self.fail(f"{value!r} is not a time such as 90m, 7d, 2026-11-23 or 2026-11-23T08:00", param, ctx)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


class Size(click.ParamType[int]):
    """``16G``, ``16GiB``, ``17179869184``: bytes, at least 1 MiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse; click reports a failure."""
        try:
            return size(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Multiples(click.ParamType[tuple[float, ...]]):
    """``0.5,1,2``: multiples of today's size, ascending; 1 is always among them."""

    name = "multiples"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """Parse; click reports a failure."""
        if isinstance(value, tuple):
            return value
        written = [re.fullmatch(r"[0-9]{1,4}(?:\.[0-9]{1,4})?", part.strip()) for part in str(value).split(",")]
        found = {float(part[0]) for part in written if part}
        if None in written or not all(_LEAST_MULTIPLE <= each <= _MOST_MULTIPLE for each in found):
            why = f"numbers from {_LEAST_MULTIPLE:g} to {_MOST_MULTIPLE:g} such as 0.5,1,2"
            self.fail(f"{value!r} is not a list of {why}", param, ctx)
        if len(found) > _MOST_MULTIPLES:
            self.fail(f"{len(found)} sizes are too many: {_MOST_MULTIPLES} at most", param, ctx)
        return tuple(sorted(found | {1.0}))


class Rate(click.ParamType[float]):
    """``50/s``, ``50``, ``3000/m``, ``0``: so many a second, as a float."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse; click reports a failure."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(?:/([smh]))?", str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a rate such as 50/s", param, ctx)
        return float(found[1]) / _UNITS[found[2] or "s"]


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


class Assignment(click.ParamType[tuple[str, str]]):
    """``innodb_old_blocks_pct=80``."""

    name = "setting"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split; click reports a failure."""
        if isinstance(value, tuple):
            return value
        name, equals, wanted = str(value).partition("=")
        if not (name.strip() and equals and wanted.strip()):
            self.fail(f"{value!r} is not a setting and its value, such as innodb_old_blocks_pct=80", param, ctx)
        return name.strip().lower(), wanted.strip()
