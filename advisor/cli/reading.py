"""What to read of a Prometheus, as options of the commands that read a fleet, and how a reading goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from advisor.cli import parameters
from advisor.cli.options import Decorator, option_group
from advisor.cli.output import Unusable

if TYPE_CHECKING:
    from advisor.fleet.progress import Progress, ReadingStage
    from advisor.fleet.reading import ReadingOptions

Answer = TypeVar("Answer")

PROMETHEUS_VARIABLE = "INNODB_ADVISOR_PROMETHEUS"
CONFIG_VARIABLE = "INNODB_ADVISOR_PROMETHEUS_CONFIG"
HEADERS_VARIABLE = "INNODB_ADVISOR_PROMETHEUS_HEADERS"
_LOGIN = "--prometheus-config has a place for the login, --header for a tenant"
_HINTS = {
    401: _LOGIN,
    403: _LOGIN,
    404: "the address ends before /api/v1, and Mimir's with /prometheus",
}
"""By status, what to look at."""
_SECONDS = 30.0
"""A query may take so long, where no configuration says otherwise."""


def named_reading(
    *,
    url: str,
    config_file: Path | None,
    headers: tuple[tuple[tuple[str, str], ...], ...],
    identity: tuple[str, ...] | None,
    replica_labels: tuple[str, ...],
    server: str | None,
    shard: tuple[int, int] | None,
    **options: Any,
) -> ReadingOptions:
    """What to read; the other options are its fields.

    Raises:
        click.UsageError: The options do not go together.
        FileError: The configuration file, or one that it names, cannot be used.
    """
    from advisor.fleet.identity import Identity
    from advisor.fleet.reading import ReadingOptions
    from advisor.outgoing import settings

    if server is not None and shard is not None:
        raise click.UsageError("--server and --shard do not go together")
    try:
        labels = Identity(identity or (), replica_labels)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return ReadingOptions(
        url=url,
        identity=labels,
        shard=shard,
        server=server,
        settings=settings.read(config_file, url, _SECONDS),
        headers=_headers(headers),
        **options,
    )


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


def _prometheus(purpose: str, **options: Any) -> Decorator:
    return click.option(
        "--prometheus",
        "url",
        type=parameters.url_like(
            "http://prometheus:9090",
            instead="--prometheus-config has a place for it",
            base=True,
            added="/api/v1(/.*)?$",
        ),
        metavar="URL",
        help=f"A Prometheus, or Thanos, Mimir or VictoriaMetrics with its API, without /api/v1{purpose}.",
        **options,
    )


_OPTIONS = (
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
)
reading_options = option_group(
    "reading",
    named_reading,
    _prometheus(f"; also ${PROMETHEUS_VARIABLE}", required=True, envvar=PROMETHEUS_VARIABLE),
    *_OPTIONS,
    click.option(
        "--may-read",
        type=parameters.rate,
        metavar="PAGES/s",
        help="Say how much memory of buffer pools could go, if each server may read so many pages more, such as 50/s. "
        "It reads 30 days of the recording rules' series.",
    ),
)


def _reading_or_none(url: str | None, **options: Any) -> ReadingOptions | None:
    return None if url is None else named_reading(url=url, **options)


optional_reading_options = option_group(
    "reading", _reading_or_none, _prometheus(": all servers that it knows"), *_OPTIONS
)
"""The same where a command may read a fleet: ``reading`` is None without --prometheus."""


def read_once(read: Callable[[Progress], Coroutine[Any, Any, Answer]], url: str) -> Answer:
    """One reading, with its progress on standard error.

    Raises:
        Unusable: There is no answer.
    """
    import asyncio

    from advisor.fleet.client import QueryError
    from advisor.fleet.reading import UnknownServer

    try:
        with _progress() as progress:
            return asyncio.run(read(progress))
    except QueryError as error:
        hint = _HINTS.get(error.status or 0)
        raise Unusable(f"{url}: {error}{f' ({hint})' if hint else ''}") from error
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
