"""The options of `fleet` that are about serving: --listen, and what goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from advisor.cli.alerting_options import Alerting, alertmanager_options
from advisor.cli.link_options import EXTERNAL_VARIABLE, Addresses, BaseUrl, allowed_host_option
from advisor.cli.options import Command, option_group, web_config_option
from advisor.cli.parameters import Address, Duration

LEAST_EVERY, MOST_EVERY = 5.0, 86_400.0


class Every(Duration):
    """Time between two readings, five seconds to a day."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse; click reports a failure."""
        seconds = super().convert(value, param, ctx)
        if not LEAST_EVERY <= seconds <= MOST_EVERY:
            self.fail(f"{value!r} is not between 5s and 24h", param, ctx)
        return seconds


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How the fleet is served.

    Attributes:
        listen: Host and port.
        every: Seconds from the beginning of a reading to that of the next.
        web_config: TLS and logins.
        addresses: Where people reach it.
        alerting: The Alertmanagers.
    """

    listen: tuple[str, int]
    every: float
    web_config: Path | None
    addresses: Addresses
    alerting: Alerting


def _service(
    *,
    listen: tuple[str, int] | None,
    every: float,
    web_config: Path | None,
    external_url: str | None,
    allowed_hosts: tuple[str, ...],
    alerting: Alerting,
) -> ServiceOptions | None:
    if listen is not None:
        return ServiceOptions(listen, every, web_config, Addresses(external_url, None, allowed_hosts), alerting)
    if alerting.urls or alerting.config:
        raise click.UsageError("--alertmanager needs --listen: one reading cannot tell when a finding is gone")
    return None


_with_service = option_group(
    "service",
    _service,
    click.option(
        "--listen",
        type=Address(),
        metavar="HOST:PORT",
        help="Serve: read the fleet again and again, and listen here; :9748 is every address of this machine.",
    ),
    click.option(
        "--every",
        type=Every(),
        default="5m",
        show_default=True,
        help="Time between two readings, with --listen. One that takes longer delays the next.",
    ),
    web_config_option("TLS and logins for --listen"),
    click.option(
        "--external-url",
        type=BaseUrl("https://fleet.example.com"),
        envvar=EXTERNAL_VARIABLE,
        metavar="URL",
        help=f"Where people reach the service, for links in alerts; also ${EXTERNAL_VARIABLE}. By default this "
        "machine's name and the port.",
    ),
    allowed_host_option,
)


def service_options(command: Command) -> Command:
    """--listen, --every, --web-config, --external-url, --allowed-host and those of Alertmanager.

    The command gets ``service``, which is None without --listen.
    """
    return alertmanager_options(_with_service(command))  # type: ignore[no-any-return]
