"""`whatif`: the model's answer to a change of settings."""

from __future__ import annotations

import click

from advisor.cli import parameters
from advisor.cli.options import SourceOptions, format_option, watch_options, where_options
from advisor.cli.output import Unusable, epilog


def _without_repetition(
    ctx: click.Context, param: click.Parameter, values: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    names = [name for name, _ in values]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name} is set twice", ctx, param)
    return values


@click.command(
    epilog=epilog(
        "whatif --defaults-file ~/.my.cnf --watch 5m --set innodb_old_blocks_pct=80",
        "whatif --recording busy-hour.jsonl.gz --set innodb_buffer_pool_size=4G --format json",
    )
)
@where_options
@click.option(
    "--set",
    "settings",
    type=parameters.setting,
    multiple=True,
    required=True,
    callback=_without_repetition,
    metavar="NAME=VALUE",
    help="A setting and the value to try; may be repeated, for several settings at once.",
)
@watch_options
@format_option("text", "json")
def whatif(
    *, where: SourceOptions, settings: tuple[tuple[str, str], ...], watch: float, interval: float | None, style: str
) -> None:
    """Say how a change of settings would change the pages read.

    Watches for a while, fits the model of the LRU list to what it saw, and asks the model. The answer has, for every
    scanned table, the pages read per pass and per second now and then, and the passes until the table is cached. It
    also has what the hot set would lose. Nothing is changed on the server. The model answers for
    innodb_old_blocks_pct, innodb_old_blocks_time, innodb_buffer_pool_size, innodb_parallel_read_threads and, on
    MariaDB, innodb_lru_scan_depth.
    """
    from advisor.cli import sources
    from advisor.cli.output import put_answer
    from advisor.pool.errors import Refused, Unanswerable
    from advisor.pool.what_if import what_if
    from advisor.render import models

    window = sources.observed_window(where, watch, interval)
    try:
        answer = what_if(window, dict(settings))
    except Refused as error:
        raise Unusable(str(error)) from error
    except Unanswerable as error:
        sources.refuse_missing_privileges(window.latest)
        raise Unusable(f"the model has no answer: {error}") from error
    put_answer(answer, style, models.what_if)
