"""The server after the upgrade, the same with another version, and the versions to choose from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from advisor.contract.changes import fix_of, release_name
from exporter import knowledge
from exporter.server import Server, Version, parse_version

_VERSION = re.compile(
    r"\s*(?:(?P<flavour>mysql|percona|mariadb|aurora)[ -])?(?P<numbers>\d+\.\d+(?:\.\d+)?)(?P<suffix>-.*)?\s*",
    re.IGNORECASE,
)
_TITLES: Mapping[knowledge.Family, str] = {"mysql": "MySQL", "mariadb": "MariaDB"}
_FIRST_CALENDAR_YEAR = 26
"""MySQL's versions are years after 9.7, from 26.7 on; MariaDB's are below."""


class UpgradeRefused(ValueError):
    """There is no forecast for this version."""

    def __init__(self, reason: str, cure: str) -> None:
        """The text is both: ``reason: cure``."""
        super().__init__(f"{reason}: {cure}")
        self.reason = reason
        self.cure = cure

    def __reduce__(self) -> tuple[type[UpgradeRefused], tuple[str, str]]:
        """For pickle, which would give the text alone."""
        return UpgradeRefused, (self.reason, self.cure)


def target(server: Server, text: str) -> Server:
    """The server with the version ``text``, such as ``8.4.6``, or ``8.4`` for the newest patch of that series.

    A series newer than those of knowledge.toml is accepted: ``behaves_like`` of the result names the one that it is
    assumed to be like.

    Raises:
        UpgradeRefused: The text is no version; or there is no forecast from this server to it.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise UpgradeRefused(f"{text[:40]!r} is not a version", "give one such as 8.4, 8.4.6 or 11.8")
    if server.flavour == "aurora":
        raise UpgradeRefused(
            "Aurora's InnoDB has versions of its own, which are not known here", "see Amazon's release notes"
        )
    numbers = match["numbers"]
    version = parse_version(numbers)
    _require_family(server, version, f"{match['flavour'] or ''}{match['suffix'] or ''}".lower())
    if numbers.count(".") == 1:
        version = max(version, knowledge.newest_patch(server.family, version[:2]))
        if server.version[:2] == version[:2] and server.version >= version:
            version = server.version
    if version == server.version:
        raise UpgradeRefused(f"the server has {server.version_text} already", _cure(server))
    if version < server.version:
        raise UpgradeRefused(f"{numbers} is older than the server's {server.version_text}", _cure(server))
    return replace(server, version=version, version_text=numbers)


def series_after(server: Server) -> tuple[str, ...]:
    """The series of knowledge.toml from the server's own on, oldest first."""
    own = server.version[:2]
    return tuple(series for series in knowledge.SERIES[server.family] if parse_version(series)[:2] >= own)


def releases(server: Server) -> Mapping[str, tuple[str, ...]]:
    """By version, oldest first, the settings and behaviours that change with it.

    They are the series after the server's own, and the releases in between that knowledge.toml names.
    """
    by_name = [*_by_version()]
    versions = {parse_version(series) for series in series_after(server)}
    for _, values in by_name:
        versions |= {floor for floor, _ in (values.mariadb if server.mariadb else values.mysql)}
    changes: dict[str, tuple[str, ...]] = {}
    before = server.version
    for version in sorted(version for version in versions if version > server.version):
        names = (
            name for name, values in by_name if values.on(server.family, version) != values.on(server.family, before)
        )
        changes[release_name(version)] = tuple(dict.fromkeys(names))
        before = version
    return changes


def assumptions(before: Server, after: Server) -> tuple[str, ...]:
    """What the forecast for ``after`` takes for granted, a sentence each, without full stops."""
    sentences = []
    if after.version_text.count(".") == 1 and after.version[2]:
        patch = ".".join(map(str, after.version))
        sentences.append(f"{after.version_text} stands for its patch {patch} and later ones")
    floors = ((series, parse_version(series)[:2]) for series in knowledge.STEPS[after.family])
    between = [series for series, numbers in floors if before.version[:2] < numbers < after.version[:2]]
    if between:
        sentences.append(
            f"An upgrade of the data folder goes through {', '.join(between)} first; only a dump and load skips them. "
            f"This is the forecast for its end, {after.version_text}"
        )
    return tuple(sentences)


def bugs_on_the_way(before: Server, after: Server) -> Iterator[str]:
    """The bugs of either version that an upgrade meets, a sentence each, without full stops."""
    for name, bug in knowledge.UPGRADE_BUGS.items():
        server = before if bug.version == "old" else after
        loses = bug.loses is None or (before.has(bug.loses) and not after.has(bug.loses))
        if server.has(name) and loses:
            yield f"{bug.what.rstrip('.')} ({bug.bug} of {server.version_text}; {fix_of(bug, server)})"


def _by_version() -> Iterator[tuple[str, knowledge.ByVersion[Any]]]:
    for name, entry in knowledge.SETTINGS.items():
        yield name, entry.exists
        yield name, entry.default
    for name, behaviour in knowledge.BEHAVIOURS.items():
        if name not in knowledge.BUGS:
            yield name, behaviour.on


def _require_family(server: Server, version: Version, words: str) -> None:
    """Refuse a version of the other family, and one that there is not."""
    own, named = server.family, _family(version)
    if "mariadb" in words or "mysql" in words:
        named = "mariadb" if "mariadb" in words else "mysql"
    title, series = _TITLES[own], f"{version[0]}.{version[1]}"
    if named not in (None, own):
        raise UpgradeRefused(
            f"{series} is a version of {_TITLES[named]}, and this server is {title}",
            f"each has an InnoDB of its own, and a change between them is a migration; {_cure(server)}",
        )
    if _family(version) != own:
        raise UpgradeRefused(f"{title} has no series {series}", _cure(server))


def _family(version: Version) -> knowledge.Family | None:
    """The family that has the series of a version; None if neither has."""
    for family, series in knowledge.SERIES.items():
        if f"{version[0]}.{version[1]}" in series:
            return family
    if version[0] >= _FIRST_CALENDAR_YEAR:
        return "mysql"
    return "mariadb" if version > parse_version(knowledge.NEWEST["mariadb"]) else None


def _cure(server: Server) -> str:
    known = ", ".join(series_after(server))
    return f"the forecast knows {_TITLES[server.family]} {known}, and takes a later one for the last of them"
