"""`fleet`: all servers that a Prometheus knows, read once or, with --listen, again and again."""

from __future__ import annotations

import functools
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.cli import logs, parameters
from advisor.cli.options import SEVERITIES, SetupOptions, option_group, rules_options
from advisor.cli.output import FINDINGS, Unusable, epilog
from advisor.cli.service_options import (
    Addresses,
    AlertingOptions,
    fleet_alerting_options,
    fleet_link_options,
    web_config_option,
)

if TYPE_CHECKING:
    from advisor.contract.fleet import FleetReport
    from advisor.fleet.progress import Progress, ReadingStage
    from advisor.fleet.reading import ReadingOptions
    from advisor.outgoing.settings import ClientSettings
    from advisor.render.blocks import TextDocument
    from advisor.rules.rulebook import Rulebook, RuleSet
    from exporter.server import Managed

PROMETHEUS_VARIABLE = "INNODB_ADVISOR_PROMETHEUS"
CONFIG_VARIABLE = "INNODB_ADVISOR_PROMETHEUS_CONFIG"
HEADERS_VARIABLE = "INNODB_ADVISOR_PROMETHEUS_HEADERS"
_SHAPE = "this configuration is a mapping with basic_auth, authorization, tls_config, timeout"
_LOGIN = "--prometheus-config has a place for the login, --header for a tenant"
_HINTS = {
    401: _LOGIN,
    403: _LOGIN,
    404: "the address ends before /api/v1, and Mimir's with /prometheus",
}
"""By status, what to look at."""
_SECONDS = 30.0
"""A query may take so long, where no configuration says otherwise."""


def _reading(
    *,
    url: str,
    config_file: Path | None,
    headers: tuple[tuple[tuple[str, str], ...], ...],
    selector: str,
    window: float,
    identity: tuple[str, ...] | None,
    replica_labels: tuple[str, ...],
    server: str | None,
    shard: tuple[int, int] | None,
    services: tuple[tuple[str, Managed], ...],
    model_seconds: float,
    may_read: float | None,
) -> ReadingOptions:
    """What to read.

    Raises:
        click.UsageError: The options do not go together.
        FileError: The configuration file, or one that it names, cannot be used.
    """
    from advisor.fleet.identity import Identity
    from advisor.fleet.reading import ReadingOptions

    if server is not None and shard is not None:
        raise click.UsageError("--server and --shard do not go together")
    try:
        labels = Identity(identity or (), replica_labels)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return ReadingOptions(
        url=url,
        selector=selector,
        window=window,
        identity=labels,
        shard=shard,
        server=server,
        services=services,
        settings=_settings(config_file, url),
        headers=_headers(headers),
        model_seconds=model_seconds,
        may_read=may_read,
    )


def _settings(path: Path | None, url: str) -> ClientSettings:
    """Login and TLS. Raises FileError as ``_reading`` does."""
    from advisor.files import yaml_file
    from advisor.outgoing.settings import HttpConfig, client_settings

    document = None if path is None else yaml_file.read(path, HttpConfig, _SHAPE)
    settings = client_settings(document, encrypted=url.startswith("https:"))
    has_timeout = document is not None and "timeout" in document.content.model_fields_set
    return settings if has_timeout else settings.lasting(_SECONDS)


def _headers(options: tuple[tuple[tuple[str, str], ...], ...]) -> dict[str, str]:
    """Headers of the options, and before them those of the environment."""
    text = os.environ.get(HEADERS_VARIABLE, "").strip()
    try:
        headers = list(parameters.header(text)) if text else []
    except ValueError:
        raise click.UsageError(
            f"${HEADERS_VARIABLE} has to be headers in lines, such as X-Scope-OrgID: team-a"
        ) from None
    for option in options:
        headers += option
    return dict(headers)


reading_options = option_group(
    "reading",
    _reading,
    click.option(
        "--prometheus",
        "url",
        required=True,
        type=parameters.url_like(
            "http://prometheus:9090",
            instead="--prometheus-config has a place for it",
            base=True,
            added="/api/v1(/.*)?$",
        ),
        envvar=PROMETHEUS_VARIABLE,
        metavar="URL",
        help="A Prometheus, or Thanos, Mimir or VictoriaMetrics with its API, without /api/v1; also "
        f"${PROMETHEUS_VARIABLE}.",
    ),
    click.option(
        "--prometheus-config",
        "config_file",
        type=click.Path(path_type=Path),
        envvar=CONFIG_VARIABLE,
        metavar="FILE",
        help="Login, TLS and the limit for a query, in the format of Prometheus' HTTP client (YAML: basic_auth, "
        f"authorization, tls_config, timeout); also ${CONFIG_VARIABLE}. Without it a query may take 30s.",
    ),
    click.option(
        "--header",
        "headers",
        multiple=True,
        type=parameters.header,
        metavar="'NAME: VALUE'",
        help="A header for each request, such as Mimir's X-Scope-OrgID; may be repeated. @FILE reads headers from a "
        f"file, and ${HEADERS_VARIABLE} has them in lines: every user of this machine can read an argument.",
    ),
    click.option(
        "--selector",
        type=parameters.selector,
        default="",
        metavar="MATCHERS",
        help='Only servers whose series match, such as \'cluster="eu",team=~"a|b"\'.',
    ),
    click.option(
        "--window",
        type=parameters.bounded_duration(600, 86_400, "is not between 10m and 24h"),
        default="1h",
        show_default=True,
        help="Time that rules look at on servers without a sidecar, 10m to 24h.",
    ),
    click.option(
        "--identity",
        type=parameters.labels,
        default=None,
        metavar="LABELS",
        help="Labels that make a server, with commas. By default cluster, namespace and pod where the last two are "
        "there, else cluster and the host of instance: two exporters of one server are one server.",
    ),
    click.option(
        "--replica-label",
        "replica_labels",
        type=parameters.labels,
        default="prometheus_replica,replica,__replica__",
        show_default=True,
        metavar="LABELS",
        help="Labels that tell replicas of a Prometheus apart, and never make a server.",
    ),
    click.option("--server", metavar="NAME", help="Only this server, by its name in the report."),
    click.option(
        "--shard",
        type=parameters.shard,
        metavar="I/N",
        help="Only a part of the servers: 0/8 to 7/8 are eight parts, the same at each run.",
    ),
    click.option(
        "--service",
        "services",
        multiple=True,
        type=parameters.service,
        metavar="MATCHERS=SERVICE",
        help="Servers that a cloud service runs (rds, aurora, azure, cloudsql), where changes are made in its own "
        "place and not by SQL; mysqld_exporter's series do not tell. May be repeated; the first that matches counts.",
    ),
    click.option(
        "--model-seconds",
        type=click.FloatRange(min=0, max=86_400),
        default=15.0,
        show_default=True,
        metavar="SECONDS",
        help="CPU time for models of servers without a sidecar. Those that are left out are named: --server "
        "asks for one.",
    ),
    click.option(
        "--may-read",
        type=parameters.rate,
        metavar="PAGES/s",
        help="Say how much memory of buffer pools could go, if each server may read so many pages more, such as 50/s. "
        "It reads 30 days of the recording rules' series.",
    ),
)


@click.command(
    epilog=epilog(
        "fleet --prometheus http://prometheus:9090",
        "fleet --prometheus http://thanos:10902 --selector 'cluster=\"eu\"' --output html > fleet.html",
        "fleet --prometheus https://mimir/prometheus --header 'X-Scope-OrgID: eu' --prometheus-config login.yml",
        "fleet --prometheus http://vm:8428 --service 'account=~\".+\"=rds' --fail-on critical",
        "fleet --prometheus http://prometheus:9090 --server eu/shop/db-1 --model-seconds 60",
        "fleet --prometheus http://prometheus:9090 --may-read 50/s",
        "fleet --prometheus http://prometheus:9090 --listen :9748 --alertmanager http://alertmanager:9093",
    )
)
@reading_options
@rules_options
@click.option(
    "--output",
    "--format",
    "style",
    type=click.Choice(["text", "json", "csv", "markdown", "html"]),
    default="text",
    show_default=True,
    help="html is one file that needs nothing else.",
)
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file instead of standard output. The report before stays until the new one is whole.",
)
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default=None,
    help="Exit with 1 when there is a finding of this severity or worse.",
)
@fleet_alerting_options
@click.option(
    "--listen",
    type=parameters.address,
    metavar="HOST:PORT",
    help="Serve: read the fleet again and again, and listen here; :9748 is every address of this machine.",
)
@click.option(
    "--every",
    type=parameters.bounded_duration(5, 86_400, "is not between 5s and 24h"),
    default="5m",
    show_default=True,
    help="Time between two readings, with --listen. One that takes longer delays the next.",
)
@web_config_option("TLS and logins for --listen")
@fleet_link_options
def fleet(
    *,
    reading: ReadingOptions,
    setup: SetupOptions,
    style: str,
    to: Path | None,
    fail_on: str | None,
    listen: tuple[str, int] | None,
    every: float,
    web_config: Path | None,
    addresses: Addresses,
    alerting: AlertingOptions,
) -> None:
    """Advise all servers that a Prometheus knows, without a connection to any of them.

    Finds the servers by their series: those of this program's sidecars, and those of mysqld_exporter. Says for each
    what to change, with the SQL; sums up which rule costs the most reads over all, which servers have the most to
    gain, and which one change saves most. Nothing is installed, and nothing is changed.

    Where a sidecar runs, its own findings are collected. Others are judged from mysqld_exporter's series, as far as
    these tell. What could not be seen is said in one line for each lack, with the number of servers and the cure; a
    server that could not be asked about is named, with the error. Nothing old is shown as new.

    With --listen it serves what it reads, and reads again and again: a page at /fleet, /advise, /metrics. Alerts go out
    only for servers without a sidecar. While Prometheus is away it shows the last report, says how old that is, and
    ends no alert.

    Progress goes to standard error. One query for the whole fleet is asked at a time, or two for 200 servers each.
    """
    from advisor.cli.output import put, writable
    from advisor.contract.recommendation import Severity

    if reading.server is not None and listen is not None:
        raise click.UsageError("--listen is for all servers: leave out --server, and ask /advise?server=")
    if listen is None and (alerting.urls or alerting.config):
        raise click.UsageError("--alertmanager needs --listen: one reading cannot tell when a finding is gone")
    writable(to)
    logging.getLogger("httpcore").setLevel(logging.WARNING)  # else a line for each step of a request
    rules, _ = setup.load()
    if listen is not None:
        _serve(reading, rules, listen, every=every, web_config=web_config, addresses=addresses, alerting=alerting)
        return
    report = _report(reading, rules.rule_set)
    if not report.servers and reading.shard is None:
        raise Unusable(f"{reading.url}: {'; '.join(report.warnings)}")
    put(_form(report, style), to)
    if fail_on and any(finding.severity.rank >= Severity(fail_on).rank for finding in report.findings):
        sys.exit(FINDINGS)


def _serve(
    reading: ReadingOptions,
    rules: Rulebook,
    listen: tuple[str, int],
    *,
    every: float,
    web_config: Path | None,
    addresses: Addresses,
    alerting: AlertingOptions,
) -> None:
    """Serve until a signal ends it. Every file is read before the port is taken.

    Raises:
        click.UsageError: The options do not go together.
        Unusable: The address cannot be used.
        FileError: A file cannot be used.
    """
    from advisor.alerting.alert import OWN_LABELS
    from advisor.alerting.fleet_alerts import FleetAlerts
    from advisor.cli import listening
    from advisor.fleet.reading import read
    from advisor.fleet.watch import FleetWatch
    from advisor.http import fleet as service
    from advisor.http.foundation import Application, Background
    from advisor.http.web_settings import WebSettings

    reserved = [name for name in reading.identity.labels if name in OWN_LABELS - {"instance"}]
    if alerting.urls and reserved:
        raise click.UsageError(f"--identity {reserved[0]}: alerts have a label {reserved[0]} of their own")
    logs.begin(logging.INFO)
    web = None if web_config is None else WebSettings(web_config)
    notifier = alerting.notifier()
    watch = FleetWatch(lambda progress: read(reading, rules.rule_set, progress), every)

    def compose(scheme: str, port: int) -> Application:
        links = addresses.links(scheme, port)
        background: list[Background] = [rules.run]
        if notifier:
            look = functools.partial(FleetAlerts(links, rules, alerting.resend_seconds).look, watch)
            background.append(lambda: notifier.run(look))
        return service.create(watch, rules, background, [notifier.families] if notifier else [], links)

    listening.reload_on_hangup(rules)
    listening.serve(listen, web, addresses, compose)


def _report(reading: ReadingOptions, rules: RuleSet) -> FleetReport:
    """One reading. Raises Unusable where there is no report."""
    import asyncio

    from advisor.fleet.client import QueryError
    from advisor.fleet.reading import UnknownServer, read

    try:
        with _progress() as progress:
            return asyncio.run(read(reading, rules, progress))
    except QueryError as error:
        hint = _HINTS.get(error.status or 0)
        raise Unusable(f"{reading.url}: {error}{f' ({hint})' if hint else ''}") from error
    except UnknownServer as error:
        raise Unusable(str(error)) from None


@contextmanager
def _progress() -> Iterator[Progress]:
    """Shows the stage and its servers on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    from advisor.fleet.progress import Progress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bars:
        task = bars.add_task("", total=None)

        def show(stage: ReadingStage, servers: int, of: int) -> None:
            bars.update(task, description=stage, completed=servers, total=of or None, refresh=True)

        yield Progress(show)


def _form(report: FleetReport, style: str) -> str | TextDocument:
    from advisor.contract.visible import json_of
    from advisor.render import fleet as documents
    from advisor.render import fleet_csv, html
    from advisor.render.markdown import markdown

    match style:
        case "json":
            return json_of(report, indent=2, by_alias=True) + "\n"
        case "csv":
            return fleet_csv.csv(report)
        case "markdown":
            return markdown(documents.report(report, documents.MARKDOWN))
        case "html":
            return html.file(documents.report(report, documents.PAGE))
        case _:
            return documents.report(report, documents.TERMINAL)
