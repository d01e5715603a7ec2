"""`serve`: the sidecar, composed of its sampler, rules, alerts and HTTP server."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.cli import logs, parameters
from advisor.cli.options import (
    SetupOptions,
    SourceOptions,
    setup_options,
    state_option,
    where_options,
)
from advisor.cli.output import epilog
from advisor.cli.service_options import Addresses, AlertingOptions, alerting_options, link_options, web_config_option

if TYPE_CHECKING:
    from advisor.http.foundation import Application
    from advisor.rules.rulebook import Rulebook
    from exporter.collectors.base import Collector

_SWITCH_SECONDS = 0.001
"""A thread that judges rules yields to a scrape after so long, at each of a scrape's dozen waits: 5 ms would add up."""


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
    type=parameters.address,
    default="127.0.0.1:9747",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to listen; :9747 is every address of this machine.",
)
@web_config_option("TLS and logins")
@click.option(
    "--interval", type=parameters.interval, default="10s", show_default=True, help="Time between two collections."
)
@click.option(
    "--history",
    "history_seconds",
    type=parameters.duration,
    default="1h",
    hidden=True,  # for lab/bench, which fills it faster
    help="How far the history goes back.",
)
@click.option(
    "--statement-timeout",
    type=parameters.duration,
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
def serve(
    *, addresses: Addresses, listen: tuple[str, int], web_config: Path | None, verbose: bool, **options: Any
) -> None:
    """Serve /metrics, /advise and a page, and keep watching.

    Keeps running while the server is away or refuses the login; /readyz, innodb_up and the log report it.
    Rules and suppressions are read again when their files change, at SIGHUP, and at POST /-/reload. A broken file
    leaves the old ones in force.
    SIGINT or SIGTERM ends it.
    """
    import sys

    from advisor.cli import listening

    logs.begin(logging.DEBUG if verbose else logging.INFO)
    # Every file is read before the port is taken, so that no taken port hides an error.
    with composed(addresses=addresses, **options) as (rules, compose):
        sys.setswitchinterval(_SWITCH_SECONDS)
        listening.reload_on_hangup(rules)
        listening.serve(listen, web_config, addresses, compose)


@contextlib.contextmanager
def composed(
    *,
    where: SourceOptions,
    setup: SetupOptions,
    addresses: Addresses,
    alerting: AlertingOptions,
    interval: float = 10.0,
    history_seconds: float = 3600.0,
    statement_timeout: float = 5.0,
    collect_lru_pages: bool = False,
    collect_lru_pages_anyway: bool = False,
    state_dir: Path | None = None,
    compat: str | None = None,
) -> Iterator[tuple[Rulebook, Callable[[str, int], Application]]]:
    """Read every file that the options name, and keep the state's folder until the end.

    Yields:
        The rules, and what makes the application for the scheme and the port of its URLs.
    """
    import os

    from advisor.advice.ledger_recorder import LedgerRecorder
    from advisor.advice.metrics import Exposition
    from advisor.advice.service import Service
    from advisor.cli import ledgers, sources
    from advisor.http import app as application
    from advisor.pool.hours import StoredHours
    from exporter import mysqld_exporter_names
    from exporter.linux import limits
    from exporter.recording.history import StoredHistory
    from exporter.sampling.history import history_bytes
    from exporter.state_file import StateFile

    rules, machine = setup.load()
    limit = limits.memory(Path("/"), os.getpid())
    with contextlib.ExitStack() as opened:
        state = opened.enter_context(StateFile(state_dir, where.state_address)) if state_dir else None
        stored = opened.enter_context(contextlib.closing(StoredHistory(state))) if state else None
        hours = StoredHours(state) if state else None
        source = sources.snapshot_source(
            where,
            interval,
            machine,
            history_seconds=history_seconds,
            history_bytes=history_bytes(limit.bytes if limit else None),
            statement_seconds=statement_timeout,
            collectors=_collectors(lru=collect_lru_pages, lru_anyway=collect_lru_pages_anyway, kinds=bool(compat)),
            keep=stored,
            past=stored.take_past() if stored else (),  # a variable would keep it in memory
        )

        def compose(scheme: str, port: int) -> Application:
            links = addresses.links(scheme, port)
            service = Service(
                source,
                rules,
                recorder=LedgerRecorder(ledgers.ledger_of(source), state),
                hours=hours,
                may_read=setup.may_read,
                target=None if where.recording else where.server().address,
                links=links,
            )
            notifier = alerting.notifier(where)
            own = [part.families for part in (stored, notifier) if part]
            exposition = Exposition(service, mysqld_exporter_names.families if compat else None, own)
            if notifier is None:
                return application.create(service, exposition)
            look = functools.partial(alerting.server_alerts(where, links).look, service)
            return application.create(service, exposition, [functools.partial(notifier.run, look)])

        yield rules, compose


def _collectors(*, lru: bool, lru_anyway: bool, kinds: bool) -> tuple[Collector[Any], ...]:
    """The usual collectors, and those that options ask for."""
    from exporter.collectors import COLLECTORS
    from exporter.collectors.lru_pages import LRU_PAGES, LRU_PAGES_OF_ANY_POOL
    from exporter.collectors.metric_kinds import METRIC_KINDS

    optional: list[Collector[Any]] = []
    if lru or lru_anyway:
        optional.append(LRU_PAGES_OF_ANY_POOL if lru_anyway else LRU_PAGES)
    if kinds:
        optional.append(METRIC_KINDS)
    return (*COLLECTORS, *optional)
