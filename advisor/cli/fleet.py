"""`fleet`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from advisor.cli.exits import epilog
from advisor.cli.fleet_parameters import Header, Labels, PrometheusUrl, Selector, Service, Shard, Window
from advisor.cli.fleet_service_options import service_options
from advisor.cli.lazy import runs
from advisor.cli.options import rules_options
from advisor.cli.parameters import Rate

PROMETHEUS_VARIABLE = "INNODB_ADVISOR_PROMETHEUS"
CONFIG_VARIABLE = "INNODB_ADVISOR_PROMETHEUS_CONFIG"
HEADERS_VARIABLE = "INNODB_ADVISOR_PROMETHEUS_HEADERS"


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
@click.option(
    "--prometheus",
    "url",
    required=True,
    type=PrometheusUrl(),
    envvar=PROMETHEUS_VARIABLE,
    metavar="URL",
    help="A Prometheus, or Thanos, Mimir or VictoriaMetrics with its API, without /api/v1; also "
    f"${PROMETHEUS_VARIABLE}.",
)
@click.option(
    "--prometheus-config",
    "config_file",
    type=click.Path(path_type=Path),
    envvar=CONFIG_VARIABLE,
    metavar="FILE",
    help="Login, TLS and the limit for a query, in the format of Prometheus' HTTP client (YAML: basic_auth, "
    f"authorization, tls_config, timeout); also ${CONFIG_VARIABLE}. Without it a query may take 30s.",
)
@click.option(
    "--header",
    "headers",
    multiple=True,
    type=Header(),
    metavar="'NAME: VALUE'",
    help="A header for each request, such as Mimir's X-Scope-OrgID; may be repeated. @FILE reads headers from a file, "
    f"and ${HEADERS_VARIABLE} has them in lines: every user of this machine can read an argument.",
)
@click.option(
    "--selector",
    type=Selector(),
    default="",
    metavar="MATCHERS",
    help='Only servers whose series match, such as \'cluster="eu",team=~"a|b"\'.',
)
@click.option(
    "--window",
    type=Window(),
    default="1h",
    show_default=True,
    help="Time that rules look at on servers without a sidecar, 10m to 24h.",
)
@click.option(
    "--identity",
    type=Labels(),
    default=None,
    metavar="LABELS",
    help="Labels that make a server, with commas. By default cluster, namespace and pod where the last two are there, "
    "else cluster and the host of instance: two exporters of one server are one server.",
)
@click.option(
    "--replica-label",
    "replica_labels",
    type=Labels(),
    default="prometheus_replica,replica,__replica__",
    show_default=True,
    metavar="LABELS",
    help="Labels that tell replicas of a Prometheus apart, and never make a server.",
)
@click.option("--server", metavar="NAME", help="Only this server, by its name in the report.")
@click.option(
    "--shard",
    type=Shard(),
    metavar="I/N",
    help="Only a part of the servers: 0/8 to 7/8 are eight parts, the same at each run.",
)
@click.option(
    "--service",
    "services",
    multiple=True,
    type=Service(),
    metavar="MATCHERS=SERVICE",
    help="Servers that a cloud service runs (rds, aurora, azure, cloudsql), where changes are made in its own place and"
    " not by SQL; mysqld_exporter's series do not tell. May be repeated; the first that matches counts.",
)
@click.option(
    "--model-seconds",
    type=click.FloatRange(min=0, max=86_400),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="CPU time for models of servers without a sidecar. Those that are left out are named: --server asks for one.",
)
@click.option(
    "--may-read",
    type=Rate(),
    metavar="PAGES/s",
    help="Say how much memory of buffer pools could go, if each server may read so many pages more, such as 50/s. It"
    " reads 30 days of the recording rules' series.",
)
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
    type=click.Choice(("info", "warning", "critical")),
    default=None,
    help="Exit with 1 when there is a finding of this severity or worse.",
)
@service_options
@runs("advisor.cli.actions.fleet.fleet")
def fleet() -> None:
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
