"""`advise`: its options."""

from __future__ import annotations

import click

from advisor.cli.exits import epilog
from advisor.cli.lazy import runs
from advisor.cli.options import setup_options, state_option, watch_options, where_options

_SEVERITIES = ("info", "warning", "critical")


@click.command(
    epilog=epilog(
        "advise --defaults-file ~/.my.cnf --watch 5m",
        "advise --recording busy-hour.jsonl.gz --format json",
        "advise --defaults-file ~/.my.cnf --fail-on warning || echo look at this",
        "advise --defaults-file ~/.my.cnf --rules ./my-rules --suppress warmup-disabled --memory 16G",
    )
)
@where_options
@setup_options
@watch_options
@state_option("Read what `serve` remembers of the last days from this directory")
@click.option("--format", "style", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option(
    "--fail-on",
    type=click.Choice(_SEVERITIES),
    default=None,
    help="Exit with 1 when there is advice of this severity or worse.",
)
@runs("advisor.cli.actions.advise.advise")
def advise() -> None:
    """Watch for a while, then say what to change.

    Rules judge what happens while they watch. Let --watch span at least two runs of the work in question.
    """
