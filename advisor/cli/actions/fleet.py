"""`fleet`: one reading of all servers that a Prometheus knows."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from advisor.cli.actions.output import replace, writable
from advisor.cli.actions.setup import load_setup
from advisor.cli.exits import FINDINGS, Unusable
from advisor.cli.fleet import HEADERS_VARIABLE
from advisor.cli.fleet_parameters import Header
from advisor.cli.fleet_service_options import ServiceOptions
from advisor.cli.options import SetupOptions
from advisor.contract.fleet import FleetReport
from advisor.contract.json_text import json_of
from advisor.contract.recommendation import Severity
from advisor.files import yaml_file
from advisor.fleet.client import PrometheusError, Refused
from advisor.fleet.identity import Identity
from advisor.fleet.progress import Progress, Stage
from advisor.fleet.reading import Options, UnknownServer, read
from advisor.outgoing.client_settings import ClientSettings, client_settings
from advisor.outgoing.configuration import HttpConfig
from advisor.rules.rulebook import Rulebook
from exporter.server import Managed

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


def fleet(
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
    setup: SetupOptions,
    style: str,
    to: Path | None,
    fail_on: str | None,
    service: ServiceOptions | None,
) -> None:
    """Print the report, and exit with 1 where --fail-on applies; or serve.

    Raises:
        Unusable: There is no report, or it would be about nobody.
        click.UsageError: The options do not go together.
        FileError: A file cannot be used.
    """
    if server is not None and shard is not None:
        raise click.UsageError("--server and --shard do not go together")
    writable(to)
    logging.getLogger("httpcore").setLevel(logging.WARNING)  # else a line for each step of a request
    try:
        labels = Identity(identity or (), replica_labels)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    book = load_setup(setup).book
    options = Options(
        url=url,
        rules=book.rule_set,
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
    if service is not None:
        _serve(service, options, book)
        return
    try:
        with _told() as tell:
            report = asyncio.run(read(options, Progress(tell)))
    except PrometheusError as error:
        raise Unusable(f"{url}: {error}{_hint(error)}") from error
    except UnknownServer as error:
        raise Unusable(str(error)) from None
    if not report.servers and shard is None:
        raise Unusable(f"{url}: {'; '.join(report.warnings)}")
    if to is not None:
        replace(to, _written(report, style))
    else:
        _print(report, style)
    if fail_on and any(each.severity.rank >= Severity(fail_on).rank for each in report.findings):
        sys.exit(FINDINGS)


def _serve(service: ServiceOptions, options: Options, book: Rulebook) -> None:
    from advisor.cli.actions import fleet_service  # noqa: PLC0415 - one reading needs no HTTP server

    if options.server is not None:
        raise click.UsageError("--listen is for all servers: leave out --server, and ask /advise?server=")
    fleet_service.serve(
        service,
        lambda progress: read(dataclasses.replace(options, rules=book.rule_set), progress),
        book,
        options.identity.labels,
    )


def _hint(error: PrometheusError) -> str:
    hint = _HINTS.get(error.status) if isinstance(error, Refused) else None
    return f" ({hint})" if hint else ""


def _settings(path: Path | None, url: str) -> ClientSettings:
    """Login and TLS.

    Raises:
        FileError: The file, or one that it names, cannot be used.
    """
    document = None if path is None else yaml_file.read(path, HttpConfig, _SHAPE)
    if document is None or "timeout" not in document.content.model_fields_set:
        found = client_settings(document, encrypted=url.startswith("https:"))
        return found.lasting(_SECONDS)
    return client_settings(document, encrypted=url.startswith("https:"))


def _headers(given: tuple[tuple[tuple[str, str], ...], ...]) -> dict[str, str]:
    """Headers of the options, and before them those of the environment."""
    told = os.environ.get(HEADERS_VARIABLE, "").strip()
    try:
        ours = Header().convert(told, None, None) if told else ()
    except click.BadParameter:
        raise click.UsageError(
            f"${HEADERS_VARIABLE} has to be headers in lines, such as X-Scope-OrgID: team-a"
        ) from None
    return dict([*ours, *(each for some in given for each in some)])


@contextmanager
def _told() -> Iterator[Callable[[Stage, int, int], None]]:
    """What tells people how far it is: on standard error, where that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars = Bars(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with bars:
        task = bars.add_task("", total=None)
        yield lambda stage, servers, of: bars.update(
            task, description=stage.value, completed=servers, total=of or None, refresh=True
        )


def _print(report: FleetReport, style: str) -> None:
    if style == "text" and sys.stdout.isatty():
        from advisor.render import fleet_text, terminal  # noqa: PLC0415 - each form loads its own

        fleet_text.print_fleet(terminal.console(), report)
        return
    click.echo(_written(report, style), nl=False)


def _written(report: FleetReport, style: str) -> str:
    if style == "json":
        return json_of(report, indent=2, by_alias=True) + "\n"
    if style == "csv":
        from advisor.render import fleet_csv  # noqa: PLC0415 - as above

        return fleet_csv.csv(report)
    if style == "markdown":
        from advisor.render import fleet_markdown  # noqa: PLC0415 - as above

        return fleet_markdown.markdown(report)
    if style == "html":
        from advisor.render import fleet_html  # noqa: PLC0415 - as above

        return fleet_html.html(report)
    from advisor.render import fleet_text  # noqa: PLC0415 - as above

    return fleet_text.text(report)
