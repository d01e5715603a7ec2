"""The bugs of either version that an upgrade meets on its way. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.contract.changes import fix_of
from exporter.knowledge import UPGRADE_BUGS
from exporter.server import Server


def bugs_on_the_way(before: Server, after: Server) -> Iterator[str]:
    """A sentence for each, without its full stop."""
    for name, bug in UPGRADE_BUGS.items():
        server = before if bug.version == "old" else after
        loses = bug.loses is None or (before.has(bug.loses) and not after.has(bug.loses))
        if server.has(name) and loses:
            yield f"{bug.what.rstrip('.')} ({bug.bug} of {server.version_text}; {fix_of(bug, server)})"
