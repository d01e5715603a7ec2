"""`serve`: its options."""

from __future__ import annotations

import click

from advisor.cli.alerting_options import alerting_options
from advisor.cli.exits import epilog
from advisor.cli.lazy import runs
from advisor.cli.link_options import link_options
from advisor.cli.options import setup_options, state_option, web_config_option, where_options
from advisor.cli.parameters import Address, Duration, Interval


@click.command(
    epilog=epilog(
        "serve --dsn mysql://advisor@127.0.0.1:3306 --password-file pw",
        "serve --defaults-file ~/.my.cnf --listen :9747",
        "serve --defaults-file ~/.my.cnf --config advisor.yaml --rules ./my-rules",
        "serve --defaults-file ~/.my.cnf --alertmanager http://alertmanager:9093",
        "serve --recording busy-hour.jsonl.gz",
    )
)
@where_options
@setup_options
@click.option(
    "--listen",
    type=Address(),
    default="127.0.0.1:9747",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; :9747 is every address of this machine.",
)
@web_config_option("TLS and logins")
@click.option("--interval", type=Interval(), default="10s", show_default=True, help="Time between two collections.")
@click.option(
    "--history",
    "history_seconds",
    type=Duration(),
    default="1h",
    hidden=True,  # for lab/bench, which fills it faster
    help="How far the history goes back.",
)
@click.option(
    "--statement-timeout",
    type=Duration(),
    default="5s",
    show_default=True,
    help="How long a statement may take. A slower source pauses for a while.",
)
@click.option(
    "--collect-lru-pages",
    is_flag=True,
    help="Also count each index's old and young pages, every ten minutes. This briefly slows down a busy server.",
)
@click.option("--collect-lru-pages-anyway", is_flag=True, help="The same, even for a buffer pool above 10 GiB.")
@state_option("Keep the history, and the miss curve of each hour of the last 35 days, in this directory")
@click.option(
    "--compat",
    type=click.Choice(["mysqld-exporter"]),
    help="Also expose the InnoDB metrics under that exporter's names, for dashboards and alerts that use them.",
)
@link_options
@alerting_options
@click.option("-v", "--verbose", is_flag=True, help="Log more.")
@runs("advisor.cli.actions.serve.serve")
def serve() -> None:
    """Serve /metrics, /advise and a page, and keep watching.

    Keeps running while the server is away or refuses the login; /readyz, innodb_up and the log report it.
    Rules and suppressions are read again when their files change, at SIGHUP, and at POST /-/reload. A broken file
    leaves the old ones in force.
    SIGINT or SIGTERM ends it.
    """
