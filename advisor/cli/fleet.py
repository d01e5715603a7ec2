"""`fleet`: all servers that a Prometheus knows, read once or, with --listen, again and again."""

from __future__ import annotations

import functools
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.cli import logs, parameters
from advisor.cli.options import SEVERITIES, SetupOptions, fail_on_option, rules_options
from advisor.cli.output import FINDINGS, Unusable, epilog
from advisor.cli.reading import read_once, reading_options
from advisor.cli.service_options import (
    Addresses,
    AlertingOptions,
    fleet_alerting_options,
    fleet_link_options,
    web_config_option,
)

if TYPE_CHECKING:
    from advisor.contract.fleet import FleetReport
    from advisor.fleet.reading import ReadingOptions
    from advisor.render.blocks import TextDocument
    from advisor.rules.rulebook import Rulebook


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
@fail_on_option(SEVERITIES, "there is a finding of this severity or worse")
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
    from advisor.fleet.reading import read

    if reading.server is not None and listen is not None:
        raise click.UsageError("--listen is for all servers: leave out --server, and ask /advise?server=")
    if listen is None and (alerting.urls or alerting.alertmanager_config):
        raise click.UsageError("--alertmanager needs --listen: one reading cannot tell when a finding is gone")
    writable(to)
    rules, _ = setup.load()
    if listen is not None:
        _serve(reading, rules, listen, every=every, web_config=web_config, addresses=addresses, alerting=alerting)
        return
    report = read_once(lambda progress: read(reading, rules.rule_set, progress), reading.url)
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

    reserved = [name for name in reading.identity.labels if name in OWN_LABELS - {"instance"}]
    if alerting.urls and reserved:
        raise click.UsageError(f"--identity {reserved[0]}: alerts have a label {reserved[0]} of their own")
    logs.begin(logging.INFO)
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
    listening.serve(listen, web_config, addresses, compose)


def _form(report: FleetReport, style: str) -> str | TextDocument:
    from advisor.cli.output import model_json
    from advisor.render import fleet as documents
    from advisor.render import fleet_csv, html
    from advisor.render.markdown import markdown

    match style:
        case "json":
            return model_json(report)
        case "csv":
            return fleet_csv.csv(report)
        case "markdown":
            return markdown(documents.report(report, documents.MARKDOWN))
        case "html":
            return html.file(documents.report(report, documents.PAGE))
        case _:
            return documents.report(report, documents.TERMINAL)
