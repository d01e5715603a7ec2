"""`check`: what can be read of a server."""

from __future__ import annotations

import sys

import click

from advisor.cli.exits import FINDINGS, epilog
from advisor.cli.options import SetupOptions, SourceOptions, format_option, setup_options, where_options

_INTERVAL = 10.0
"""Seconds between two collections; `check` makes two at once, whatever it is."""


@click.command(
    epilog=epilog(
        "check --dsn mysql://advisor@127.0.0.1:3306 --password-file pw",
        "check --defaults-file ~/.my.cnf --format json",
    )
)
@where_options
@setup_options
@format_option("text", "json")
def check(*, where: SourceOptions, setup: SetupOptions, style: str) -> None:
    """Say which sources can be read, and which GRANT is missing.

    Names the rules that are blind without a source.
    """
    from advisor.cli import sources
    from advisor.cli.output import say, say_json
    from advisor.cli.setup import load_setup
    from advisor.observe import observation
    from advisor.render.check_text import SourceCheck, print_checks
    from advisor.render.terminal import console
    from exporter.collectors import DEFAULT

    rules, machine = load_setup(setup)
    source = sources.snapshot_source(where, _INTERVAL, machine)
    snapshot = observation.run(observation.single_snapshot(source))
    applicable = [rule for rule in rules.rules if snapshot.server in rule.file.applies]
    checks = [
        SourceCheck(
            source=collector.name,
            ok=None if outcome is None or outcome.failure == "absent" else outcome.failure is None,
            reason=outcome.reason if outcome else "not collected",
            cure=outcome.cure if outcome else None,
            needed_by=tuple(rule.id for rule in applicable if collector.name in rule.file.needs),
        )
        for collector in DEFAULT
        for outcome in [snapshot.outcomes.get(collector.name)]
    ]
    server = str(snapshot.server)
    if style == "json":
        values = [{name: getattr(check, name) for name in SourceCheck.__slots__} for check in checks]
        say_json({"server": server, "account": snapshot.account, "sources": values})
    else:
        say(f"{server}, as {snapshot.account}")
        print_checks(console(), checks)
    sources.refuse_missing_privileges(snapshot)
    if any(check.ok is False for check in checks):
        sys.exit(FINDINGS)
