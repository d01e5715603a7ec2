"""`check`: its options."""

from __future__ import annotations

import click

from advisor.cli.exits import epilog
from advisor.cli.lazy import runs
from advisor.cli.options import setup_options, where_options


@click.command(
    epilog=epilog(
        "check --dsn mysql://advisor@127.0.0.1:3306 --password-file pw",
        "check --defaults-file ~/.my.cnf --format json",
    )
)
@where_options
@setup_options
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
@runs("advisor.cli.actions.check.check")
def check() -> None:
    """Say which sources can be read, and which GRANT is missing.

    Names the rules that are blind without a source.
    """
