"""`check`: what can be read of a server."""

from __future__ import annotations

import sys

from advisor.cli.actions.observation import refuse_missing_privileges, snapshot_source
from advisor.cli.actions.output import say, say_json
from advisor.cli.actions.setup import load_setup
from advisor.cli.exits import FINDINGS
from advisor.cli.options import SetupOptions, SourceOptions
from advisor.observe import observation
from advisor.render.check_text import SourceCheck, print_checks
from advisor.render.terminal import console
from exporter.collectors import DEFAULT

_INTERVAL = 10.0


def check(*, where: SourceOptions, setup: SetupOptions, style: str) -> None:
    """Print every source; exit with 1 where one cannot be read, with 2 where a privilege is missing."""
    loaded = load_setup(setup)
    source = snapshot_source(where, _INTERVAL, loaded.machine)
    snapshot = observation.run(observation.single_snapshot(source))
    rules = [each for each in loaded.book.rules if snapshot.server in each.file.applies]
    checks = [
        SourceCheck(
            source=collector.name,
            ok=None if outcome is None or outcome.failure == "absent" else outcome.failure is None,
            reason=outcome.reason if outcome else "not collected",
            cure=outcome.cure if outcome else None,
            needed_by=tuple(each.id for each in rules if collector.name in each.file.needs),
        )
        for collector in DEFAULT
        for outcome in [snapshot.outcomes.get(collector.name)]
    ]
    server = str(snapshot.server)
    if style == "json":
        sources = [{name: getattr(each, name) for name in SourceCheck.__slots__} for each in checks]
        say_json({"server": server, "account": snapshot.account, "sources": sources})
    else:
        say(f"{server}, as {snapshot.account}")
        print_checks(console(), checks)
    refuse_missing_privileges(snapshot)
    if any(each.ok is False for each in checks):
        sys.exit(FINDINGS)
