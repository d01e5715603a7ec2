"""The options that say where people find a service."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import click

from advisor.cli.options import Decorator, option_group
from advisor.cli.parameters import host_name, url_like
from advisor.contract.links import Links

EXTERNAL_VARIABLE = "INNODB_ADVISOR_EXTERNAL_URL"
DASHBOARD_VARIABLE = "INNODB_ADVISOR_DASHBOARD_URL"
ALLOWED_VARIABLE = "INNODB_ADVISOR_ALLOWED_HOSTS"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The URLs and names under which people reach a service; None for the defaults."""

    external_url: str | None
    dashboard_url: str | None = None
    allowed_hosts: tuple[str, ...] = ()

    def links(self, scheme: str, port: int) -> Links:
        """The links. By default the page has this machine's name.

        Args:
            scheme: Of the listener.
            port: Of the listener.
        """
        return Links(self.external_url or f"{scheme}://{socket.gethostname()}:{port}", self.dashboard_url)


def _external_url_option(service: str, example: str, purpose: str) -> Decorator:
    return click.option(
        "--external-url",
        type=url_like(example, base=True),
        envvar=EXTERNAL_VARIABLE,
        metavar="URL",
        help=f"Where people reach {service}, for links in {purpose}; also ${EXTERNAL_VARIABLE}. By default this "
        "machine's name and the port.",
    )


_ALLOWED_HOST_OPTION = click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    type=host_name,
    envvar=ALLOWED_VARIABLE,
    metavar="NAME",
    help="A name under which browsers may ask for this service, beside addresses, names without a dot, this machine's "
    f"own name and the host of --external-url; may be repeated. ${ALLOWED_VARIABLE} has several, with blanks.",
)
link_options = option_group(
    "addresses",
    Addresses,
    _external_url_option("this sidecar", "https://advisor.example.com/db1", "alerts and dashboards"),
    click.option(
        "--dashboard-url",
        type=url_like("https://grafana.example.com/d/innodb-advisor-lru?var-instance=db1:3306"),
        envvar=DASHBOARD_VARIABLE,
        metavar="URL",
        help=f"A dashboard with this server's metrics, for the page's link to it; also ${DASHBOARD_VARIABLE}.",
    ),
    _ALLOWED_HOST_OPTION,
)
fleet_link_options = option_group(
    "addresses",
    Addresses,
    _external_url_option("the service", "https://fleet.example.com", "alerts"),
    _ALLOWED_HOST_OPTION,
)
