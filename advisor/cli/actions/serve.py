"""`serve`: the sidecar, composed of its sampler, rules, alerts and HTTP server."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from prometheus_client import Metric

from advisor.advice.apart import ModelProcesses
from advisor.advice.ledger_recorder import LedgerRecorder
from advisor.advice.metrics import Exposition
from advisor.advice.remembered import Remembered
from advisor.advice.service import Service
from advisor.cli import logs
from advisor.cli.actions.ledgers import carried_by
from advisor.cli.actions.listening import listening, reload_on_hangup
from advisor.cli.actions.observation import snapshot_source
from advisor.cli.actions.setup import load_setup
from advisor.cli.alerting_options import Alerting
from advisor.cli.link_options import Addresses
from advisor.cli.options import SetupOptions, SourceOptions
from advisor.http import app as application
from advisor.http.foundation import Application
from advisor.http.web_settings import WebSettings
from advisor.observe.source import SnapshotSource
from advisor.pool.stored_hours import StoredHours
from advisor.rules.configuration import ServerMachine
from exporter import mysqld_exporter_names
from exporter.collectors import COLLECTORS
from exporter.collectors.base import Collector
from exporter.collectors.lru_pages import LRU_PAGES, LRU_PAGES_OF_ANY_POOL
from exporter.collectors.metric_kinds import METRIC_KINDS
from exporter.linux import limits
from exporter.recording.history import StoredHistory
from exporter.sampling import metrics
from exporter.sampling.bounded_history import affordable_bytes
from exporter.state_file import StateFile

log = logging.getLogger("innodb-advisor")

_SWITCH_SECONDS = 0.001
"""A model yields to a scrape after so long, at each of a scrape's dozen waits; Python's default of 5 ms adds up."""


Compose = Callable[[str, int], Application]


def serve(
    *, addresses: Addresses, listen: tuple[str, int], web_config: Path | None, verbose: bool, **options: Any
) -> None:
    """Serve until a signal ends it. Every file is read before the port is taken, so that no taken port hides an error.

    Raises:
        click.UsageError: The options do not go together.
        Unusable: The address cannot be used.
        FileError, RecordingError, TargetError: A file cannot be used.
        InUse: Another sidecar keeps this server's state in the folder.
    """
    logs.begin(logging.DEBUG if verbose else logging.INFO)
    web = None if web_config is None else WebSettings(web_config)
    with composed(addresses=addresses, **options) as compose, listening(listen, web) as listener:
        app = compose(listener.scheme, listener.port)
        reload_on_hangup(app.state.book)
        sys.setswitchinterval(_SWITCH_SECONDS)
        listener.run(app, addresses)


@contextlib.contextmanager
def composed(
    *,
    where: SourceOptions,
    setup: SetupOptions,
    addresses: Addresses,
    alerting: Alerting,
    interval: float,
    history_seconds: float,
    statement_timeout: float,
    collect_lru_pages: bool,
    collect_lru_pages_anyway: bool,
    state_dir: Path | None,
    compat: str | None,
) -> Iterator[Compose]:
    """Read every file that the options name, and keep the state's folder until the end.

    Yields:
        What makes the application, for the scheme and the port of its URLs.
    """
    loaded = load_setup(setup)
    mine = limits.memory(Path("/"), os.getpid())
    with contextlib.ExitStack() as opened:
        state = opened.enter_context(StateFile(state_dir, _address(where))) if state_dir else None
        stored = opened.enter_context(contextlib.closing(StoredHistory(state))) if state else None
        hours = StoredHours(state) if state else None
        source = _source(
            where,
            loaded.machine,
            stored,
            interval=interval,
            history_seconds=history_seconds,
            history_bytes=affordable_bytes(mine.bytes if mine else None),
            statement_seconds=statement_timeout,
            collectors=_collectors(lru=collect_lru_pages, lru_anyway=collect_lru_pages_anyway, kinds=bool(compat)),
        )

        def compose(scheme: str, port: int) -> Application:
            links = addresses.links(scheme, port)
            service = Service(
                source,
                loaded.book,
                apart=ModelProcesses(),
                remembered=lambda: Remembered(hours.memory if hours else None, setup.may_read),
                remember=hours.remember if hours else None,
                books=LedgerRecorder(carried_by(source), state),
                target=None if where.recording else where.server().address,
                links=links,
            )
            notifier = alerting.notifier(where, links)
            own: list[Callable[[], Iterable[Metric]]] = []
            own += [stored.families] if stored else []
            own += [notifier.families] if notifier else []
            exposed = mysqld_exporter_names.families if compat else metrics.families
            background = [lambda: notifier.run(service)] if notifier else []
            return application.create(service, Exposition(service, exposed, own), background)

        yield compose


def _collectors(*, lru: bool, lru_anyway: bool, kinds: bool) -> tuple[Collector[Any], ...]:
    """The usual collectors, and those that options ask for."""
    optional: list[Collector[Any]] = []
    if lru or lru_anyway:
        optional.append(LRU_PAGES_OF_ANY_POOL if lru_anyway else LRU_PAGES)
    if kinds:
        optional.append(METRIC_KINDS)
    return (*COLLECTORS, *optional)


def _address(where: SourceOptions) -> str:
    """The address of the server, whose state is kept."""
    if where.recording:
        raise click.UsageError("--state-dir needs a server, not a recording")
    return where.server().address


def _source(
    where: SourceOptions,
    machine: ServerMachine,
    stored: StoredHistory | None,
    *,
    interval: float,
    history_seconds: float,
    history_bytes: int,
    statement_seconds: float,
    collectors: tuple[Collector[Any], ...],
) -> SnapshotSource:
    """The sampler, or a replay. A variable for the past would keep it in memory."""
    return snapshot_source(
        where,
        interval,
        machine,
        history_seconds=history_seconds,
        history_bytes=history_bytes,
        statement_seconds=statement_seconds,
        collectors=collectors,
        keep=stored,
        past=stored.take_past() if stored else (),
    )
