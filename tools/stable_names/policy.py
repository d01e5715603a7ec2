"""When a stable name may go. Pure: from the names written down and those of the code to the names to write down.

A line of docs/stable-names.txt is the version that first had the name, the name, and since when it is deprecated:
``0.1.0 metric innodb_up gauge`` or ``0.1.0 metric innodb_up gauge (deprecated since 0.3.0)``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

POLICY = "docs/versioning.md"
MINOR_RELEASES = 2
"""A deprecated name stays for so many minor releases at least."""
_LINE = re.compile(r"(\d+\.\d+\.\d+) (.+?)(?: \(deprecated since (\d+\.\d+\.\d+)\))?")

Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class StableName:
    """A name, the version that first had it, and the version that deprecated it."""

    name: str
    since: str
    deprecated: str | None = None

    def __str__(self) -> str:
        """Its line."""
        return f"{self.since} {self.name}" + (f" (deprecated since {self.deprecated})" if self.deprecated else "")


class TooEarly(Exception):
    """Released names are gone before the policy lets them go; the text has them."""


def version(text: str) -> Version:
    """A version such as 1.2.3, to compare."""
    major, minor, patch = map(int, text.split("."))
    return major, minor, patch


def parse(text: str) -> list[StableName]:
    """The names of a file.

    Raises:
        ValueError: A line is none.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if (fields := _LINE.fullmatch(line)) is None:
            raise ValueError(f"line {number} is no stable name: {line}")
        found.append(StableName(fields[2], fields[1], fields[3]))
    return found


def may_go(name: StableName, now: str, *, released: bool) -> bool:
    """Whether a name may be missing from a version.

    Args:
        name: The name, as it was written down.
        now: The version.
        released: Whether this version was released: what only an unreleased version has is promised to nobody.
    """
    if name.since == now and not released:
        return True
    if name.deprecated is None:
        return False
    then, here = version(name.deprecated), version(now)
    return here[0] > then[0] or (here[0] == then[0] and here[1] >= then[1] + MINOR_RELEASES)


def renewed(
    written: Iterable[StableName], found: Mapping[str, str | None], now: str, *, released: bool
) -> list[StableName]:
    """The names to write down, in order.

    Args:
        written: Those written down.
        found: Those of the code, with the version that deprecated each.
        now: The version of the code.
        released: Whether this version was released.

    Raises:
        TooEarly: Names are gone that must stay.
    """
    known = {each.name: each for each in written}
    if early := [
        each for each in known.values() if each.name not in found and not may_go(each, now, released=released)
    ]:
        raise TooEarly(
            f"{len(early)} names of a release are gone or changed, and {POLICY} says that they stay: deprecate each "
            f"first, and keep it for {MINOR_RELEASES} minor releases\n" + "\n".join(f"  {each}" for each in early)
        )
    return [
        StableName(name, known[name].since if name in known else now, deprecated)
        for name, deprecated in sorted(found.items())
    ]
