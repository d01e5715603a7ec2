"""`record`: its options."""

from __future__ import annotations

import click

from advisor.cli.exits import epilog
from advisor.cli.lazy import runs
from advisor.cli.options import output_option, server_options, state_option
from advisor.cli.parameters import Duration, Interval


@click.command(
    epilog=epilog(
        "record --defaults-file ~/.my.cnf --for 10m -o busy-hour.jsonl.gz",
        "record --defaults-file ~/.my.cnf --for 10m --anonymise -o for-a-ticket.jsonl.gz",
        "record --defaults-file ~/.my.cnf --state-dir /var/lib/innodb-advisor -o with-history.jsonl.gz",
    )
)
@server_options
@click.option("--for", "seconds", type=Duration(), default="60s", show_default=True, help="How long to record.")
@click.option("--interval", type=Interval(), default="5s", show_default=True, help="Time between two collections.")
@output_option
@state_option("Also record what became of advice, which `serve` keeps in this directory")
@click.option(
    "--anonymise",
    is_flag=True,
    help="Replace your names: schemas, tables, indexes, columns, accounts, hosts, paths, statements.",
)
@runs("advisor.cli.actions.record.record")
def record() -> None:
    """Record a server into a file that serve and advise can replay.

    The file holds the result of every query. With --state-dir it also carries what became of advice until now, which
    `advise` and `history` show.

    --anonymise replaces names by random ones and leaves out what no parser reads. The advice stays the same, except
    for the names. What became of advice is then without its texts, and without what your own rules found. The command
    `anonymise` does the same to a recording that is there.

    Ctrl-C ends the recording early, with exit code 0: the file then holds what was recorded so far.
    """
