"""`mcp`: the tools for agents, over stdio or HTTP."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.cli import logs, parameters
from advisor.cli.options import SetupOptions, SourceOptions, optional_where_options, setup_options
from advisor.cli.output import Unusable, epilog
from advisor.cli.reading import optional_reading_options
from advisor.cli.service_options import Addresses, AlertingOptions, allowed_host_options, web_config_option
from advisor.cli.sidecar import SidecarOptions, optional_sidecar_options

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from advisor.fleet.reading import ReadingOptions

_EVERY_SECONDS = 300.0
"""Time between two readings of a fleet, as `fleet --listen` has it."""


@click.command(
    epilog=epilog(
        "mcp --url http://127.0.0.1:9747",
        "mcp --recording docs/practice/shop.jsonl.gz",
        "mcp --defaults-file ~/.my.cnf",
        "mcp --prometheus http://prometheus:9090 --selector 'cluster=\"eu\"'",
        "mcp --url https://advisor.example.com/db1 --url-config login.yml --listen :9750 --web-config web.yml",
    )
)
@optional_sidecar_options
@optional_where_options
@optional_reading_options
@setup_options
@click.option(
    "--listen",
    type=parameters.address,
    metavar="HOST:PORT",
    help="Serve streamable HTTP at /mcp there, instead of standard input and output; :9750 is every address of this "
    "machine.",
)
@web_config_option("TLS and logins for --listen")
@allowed_host_options
def mcp(
    *,
    sidecar: SidecarOptions | None,
    where: functools.partial[SourceOptions],
    reading: ReadingOptions | None,
    setup: SetupOptions,
    listen: tuple[str, int] | None,
    web_config: Path | None,
    addresses: Addresses,
) -> None:
    """Serve tools for agents: findings, plans, what became of them (Model Context Protocol).

    An agent lists findings, asks the models, makes the patch for the owner of a setting, forecasts an upgrade, and
    reads what came of a change. Every tool only reads; none takes SQL. Answers are bounded, and come in pages.

    It answers from a running service (--url), from a server that it watches itself, from a recording, or from a
    Prometheus for a whole fleet. It speaks over standard input and output, as agents start it, or with --listen over
    HTTP. It needs the extra `mcp`: pip install 'innodb-advisor[mcp]'.
    """
    if importlib.util.find_spec("mcp") is None:
        raise Unusable("`mcp` needs the SDK of the Model Context Protocol: pip install 'innodb-advisor[mcp]'")
    if (any(where.keywords.values()), sidecar is not None, reading is not None).count(True) > 1:
        raise click.UsageError("--url, --prometheus, and a server or a recording do not go together: name one")
    logs.begin(logging.INFO if listen else logging.WARNING)
    with contextlib.ExitStack() as opened:
        if sidecar is not None:
            server = _elsewhere(sidecar)
        elif reading is not None:
            server = _fleet(reading, setup)
        else:
            server = opened.enter_context(_here(where(), setup))
        _serve(server, listen, web_config, addresses)


def _serve(server: MCPServer, listen: tuple[str, int] | None, web_config: Path | None, addresses: Addresses) -> None:
    """Serve until the client ends it, or with a port until a signal does.

    Raises:
        click.UsageError, Unusable, FileError: The address or the web configuration cannot be used.
    """
    import asyncio

    from advisor.cli import listening
    from advisor.mcp import application

    if listen is None:
        asyncio.run(server.run_stdio_async())
        return
    listening.serve(listen, web_config, addresses, lambda _scheme, _port: application.over_http(server))


def _elsewhere(sidecar: SidecarOptions) -> MCPServer:
    """A service at a URL. Raises FileError."""
    from advisor.mcp import application
    from advisor.mcp.endpoint import RemoteEndpoint
    from advisor.mcp.sources import RemoteSource

    return application.create(RemoteSource(RemoteEndpoint(sidecar.url, sidecar.settings())))


def _fleet(reading: ReadingOptions, setup: SetupOptions) -> MCPServer:
    """The servers that a Prometheus knows. Raises FileError."""
    from advisor.fleet.reading import read
    from advisor.fleet.watch import FleetWatch
    from advisor.http import fleet as service
    from advisor.mcp import application
    from advisor.mcp.endpoint import LocalEndpoint
    from advisor.mcp.readings import FleetReadings
    from advisor.mcp.sources import FleetAnswers

    rules, _ = setup.load()
    watch = FleetWatch(lambda progress: read(reading, rules.rule_set, progress), _EVERY_SECONDS)
    app = service.create(watch, rules, [rules.run])
    return application.create(FleetAnswers(LocalEndpoint(app), FleetReadings(watch, reading, rules)), app)


@contextlib.contextmanager
def _here(where: SourceOptions, setup: SetupOptions) -> Iterator[MCPServer]:
    """A recording, or a server that is watched as `serve` does. Raises FileError, RecordingError."""
    from advisor.cli.serve import composed
    from advisor.mcp import application
    from advisor.mcp.endpoint import LocalEndpoint
    from advisor.mcp.sources import SidecarAnswers

    # Without a state: the running sidecar of --url has that.
    served = composed(where=where, setup=setup, addresses=Addresses(), alerting=AlertingOptions())
    with served as (_, compose):
        app = compose("http", 0)
        yield application.create(SidecarAnswers(LocalEndpoint(app)), app)
