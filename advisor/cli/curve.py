"""`curve`: the reads to expect with other sizes of the buffer pool."""

from __future__ import annotations

from pathlib import Path

import click

from advisor.cli import parameters
from advisor.cli.options import SourceOptions, format_option, output_option, watch_options, where_options
from advisor.cli.output import Unusable, epilog


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
    type=parameters.multiples,
    default="0.25,0.5,0.75,1,1.5,2,4",
    show_default=True,
    metavar="NUMBERS",
    help="Sizes of the buffer pool, as multiples of today's; today's is always among them.",
)
@watch_options
@format_option("text", "json", "svg")
@output_option
def curve(
    *,
    where: SourceOptions,
    times: tuple[float, ...],
    watch: float,
    interval: float | None,
    style: str,
    output: Path | None,
) -> None:
    """Predict the reads with buffer pools of other sizes.

    Watches for a while: what is read of each table, and what the pool holds of it. The answer has, for each size, the
    pages read from disk a second: what to expect, the fewest and the most. With a larger pool, no independent accesses
    read more than the most. Nothing is changed on the server.

    The reads are of the load that was watched: watch the hours that matter.
    """
    from advisor.cli import sources
    from advisor.cli.output import put, put_answer, writable
    from advisor.pool.errors import Unanswerable
    from advisor.pool.estimate import curve as estimate
    from advisor.render import curve_svg, models

    writable(output)
    source = sources.observed_source(where, watch, interval)
    latest = sources.whole_window(source).latest
    try:
        miss_curve = estimate(tuple(source.history), float("inf"), times).tidied()
    except Unanswerable as error:
        sources.refuse_missing_privileges(latest)
        raise Unusable(f"there is no miss curve: {error}") from error
    if style == "svg":
        put(curve_svg.svg(miss_curve), output)
    else:
        put_answer(miss_curve, style, models.curve, output)
