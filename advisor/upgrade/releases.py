"""The releases that a server may be upgraded to, with what changes in each. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from advisor.upgrade.target import series_after
from exporter.knowledge import BEHAVIOURS, BUGS, SETTINGS, ByVersion, Version
from exporter.server import Server, parse_version


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
        changes[_text(version)] = tuple(dict.fromkeys(names))
        before = version
    return changes


def _by_version() -> Iterator[tuple[str, ByVersion[Any]]]:
    for name, entry in SETTINGS.items():
        yield name, entry.exists
        yield name, entry.default
    for name, behaviour in BEHAVIOURS.items():
        if name not in BUGS:
            yield name, behaviour.on


def _text(version: Version) -> str:
    """``8.4.0`` as 8.4: a series stands for its newest patch, which is what people upgrade to."""
    return ".".join(map(str, version if version[2] else version[:2]))
