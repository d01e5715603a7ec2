"""`check`: what can be read of a server."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from advisor.cli.options import SetupOptions, SourceOptions, format_option, setup_options, where_options
from advisor.cli.output import FINDINGS, epilog

if TYPE_CHECKING:
    from advisor.render.blocks import Cell

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
    from advisor.cli.output import put, say_json
    from advisor.observe import observation
    from advisor.render.blocks import Paragraph, TextDocument, TextTable
    from exporter.collectors import DEFAULT

    rules, machine = setup.load()
    source = sources.snapshot_source(where, _INTERVAL, machine)
    snapshot = observation.run(observation.single_snapshot(source))
    applicable = [rule for rule in rules.rules if snapshot.server in rule.file.applies]
    checks: list[dict[str, Any]] = [
        {
            "source": collector.name,
            "ok": None if outcome is None or outcome.failure == "absent" else outcome.failure is None,
            "reason": outcome.reason if outcome else "not collected",
            "cure": outcome.cure if outcome else None,
            "needed_by": [rule.id for rule in applicable if collector.name in rule.file.needs],
        }
        for collector in DEFAULT
        for outcome in [snapshot.outcomes.get(collector.name)]
    ]
    server = str(snapshot.server)
    if style == "json":
        say_json({"server": server, "account": snapshot.account, "sources": checks})
    else:
        table = TextTable(("source", "", "why", "cure", "rules that need it"), tuple(map(_row, checks)))
        put(TextDocument("Sources", (Paragraph(f"{server}, as {snapshot.account}"), table)))
    sources.refuse_missing_privileges(snapshot)
    if any(check["ok"] is False for check in checks):
        sys.exit(FINDINGS)


def _row(check: Mapping[str, Any]) -> tuple[Cell, ...]:
    """A source in a line; the rules that are blind without it only where it cannot be read."""
    from advisor.render.blocks import Toned

    mark = Toned("ok", "good") if check["ok"] else "–" if check["ok"] is None else Toned("no", "critical")
    blind = ", ".join(check["needed_by"]) if check["ok"] is False else ""
    return check["source"], mark, check["reason"], check["cure"] or "", blind
