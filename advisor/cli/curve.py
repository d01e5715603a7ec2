"""`curve`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from advisor.cli.exits import epilog
from advisor.cli.lazy import runs
from advisor.cli.options import watch_options, where_options
from advisor.cli.parameters import Multiples


@click.command(
    epilog=epilog(
        "curve --defaults-file ~/.my.cnf --watch 15m",
        "curve --recording busy-hour.jsonl.gz --times 0.5,0.75,1.5,2",
        "curve --recording busy-hour.jsonl.gz --format svg -o curve.svg",
    )
)
@where_options
@click.option(
    "--times",
    type=Multiples(),
    default="0.25,0.5,0.75,1,1.5,2,4",
    show_default=True,
    metavar="NUMBERS",
    help="Sizes of the buffer pool, as multiples of today's; today's is always among them.",
)
@watch_options
@click.option("--format", "style", type=click.Choice(["text", "json", "svg"]), default="text", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file instead of standard output.",
)
@runs("advisor.cli.actions.curve.curve")
def curve() -> None:
    """Predict the reads with buffer pools of other sizes.

    Watches for a while: what is read of each table, and what the pool holds of it. The answer has, for each size, the
    pages read from disk a second: what to expect, the fewest and the most. With a larger pool, no independent accesses
    read more than the most. Nothing is changed on the server.

    The reads are of the load that was watched: watch the hours that matter.
    """
