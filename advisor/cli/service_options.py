"""Options of the services, `serve` and `fleet --listen`: logins, addresses for people, Alertmanager."""

from __future__ import annotations

import ipaddress
import logging
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from advisor.cli.options import Decorator, SourceOptions, option_group
from advisor.cli.parameters import bounded_duration, host_name, url_like
from advisor.contract.links import Links

if TYPE_CHECKING:  # only sidecars that send alerts load the HTTP client and TLS
    from advisor.alerting.delivery import Notifier
    from advisor.alerting.server_alerts import ServerAlerts
    from exporter.connection.target import Target

log = logging.getLogger(__name__)

WEB_VARIABLE = "INNODB_ADVISOR_WEB_CONFIG"
EXTERNAL_VARIABLE = "INNODB_ADVISOR_EXTERNAL_URL"
DASHBOARD_VARIABLE = "INNODB_ADVISOR_DASHBOARD_URL"
ALLOWED_VARIABLE = "INNODB_ADVISOR_ALLOWED_HOSTS"
ALERTMANAGER_VARIABLE = "INNODB_ADVISOR_ALERTMANAGER"
ALERTMANAGER_CONFIG_VARIABLE = "INNODB_ADVISOR_ALERTMANAGER_CONFIG"
INSTANCE_VARIABLE = "INNODB_ADVISOR_INSTANCE"


def web_config_option(purpose: str) -> Decorator:
    """--web-config."""
    return click.option(
        "--web-config",
        type=click.Path(path_type=Path),
        envvar=WEB_VARIABLE,
        metavar="FILE",
        help=f"{purpose}, in the format of Prometheus' exporter-toolkit; also ${WEB_VARIABLE}.",
    )


@dataclass(frozen=True, slots=True)
class Addresses:
    """The URLs and names under which people reach a service; None for the defaults."""

    external_url: str | None = None
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


def _allowed_host_option(own: str) -> Decorator:
    return click.option(
        "--allowed-host",
        "allowed_hosts",
        multiple=True,
        type=host_name,
        envvar=ALLOWED_VARIABLE,
        metavar="NAME",
        help="A name under which browsers may ask for this service, beside addresses, names without a dot, this "
        f"machine's own name{own}; may be repeated. ${ALLOWED_VARIABLE} has several, with blanks.",
    )


_ALLOWED_HOST_OPTION = _allowed_host_option(" and the host of --external-url")
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


allowed_host_options = option_group("addresses", Addresses, _allowed_host_option(""))


@dataclass(frozen=True, slots=True)
class AlertingOptions:
    """The Alertmanagers, and how alerts are sent to them.

    Attributes:
        urls: Of each Alertmanager; empty where no alerts are sent.
        alertmanager_config: Login, TLS and timeout.
        resend_seconds: Time between two sendings of an alert that holds.
        instance: The label of alerts; None for the server's address.
    """

    urls: tuple[str, ...] = ()
    alertmanager_config: Path | None = None
    resend_seconds: float = 60.0
    instance: str | None = None

    def notifier(self, where: SourceOptions | None = None) -> Notifier | None:
        """What sends alerts; None where no Alertmanager is named.

        Args:
            where: The server or the recording that the alerts are about; None for a fleet.

        Raises:
            FileError: The configuration file cannot be used.
            click.UsageError: The options do not go together.
        """
        if not self.urls:
            if self.alertmanager_config:
                raise click.UsageError("--alertmanager-config needs an --alertmanager")
            return None
        if where and where.recording:
            raise click.UsageError("--alertmanager needs a server, not a recording: an alert is about what happens now")
        from advisor.alerting.configuration import alert_settings
        from advisor.alerting.delivery import CAPACITY, FLEET_CAPACITY, Alertmanager, Notifier

        urls = tuple(dict.fromkeys(self.urls))
        settings = alert_settings(self.alertmanager_config, encrypted=any(url.startswith("https:") for url in urls))
        for url in urls:
            login = settings.content.client.authorization
            if login and url.startswith("http:") and not _is_local(urlsplit(url).hostname or ""):
                log.warning("the login for Alertmanager goes over the network in the clear: %s has no TLS", url)
        capacity = CAPACITY if where else FLEET_CAPACITY
        return Notifier(
            [Alertmanager(url, lambda: settings.content.client, capacity) for url in urls],
            settings,
            self.resend_seconds,
        )

    def server_alerts(self, where: SourceOptions, links: Links) -> ServerAlerts:
        """The alerts of a sidecar's server.

        Args:
            where: The server.
            links: Of the sidecar.
        """
        from advisor.alerting.server_alerts import ServerAlerts

        return ServerAlerts(self.instance or _instance(where.server()), links, self.resend_seconds)


def _instance(server: Target) -> str:
    if server.socket or _is_local(server.host):
        return f"{socket.gethostname()}:{server.port}"
    return server.address


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


_ALERTMANAGER = (
    click.option(
        "--alertmanager",
        "urls",
        multiple=True,
        type=url_like(
            "http://alertmanager:9093",
            instead="--alertmanager-config has a place for it",
            base=True,
            added="/api/v[12](/alerts)?$",
        ),
        envvar=ALERTMANAGER_VARIABLE,
        metavar="URL",
        help="Post findings to this Alertmanager as alerts; once for each member of a cluster, as every one gets "
        f"every alert. Also ${ALERTMANAGER_VARIABLE}, with blanks between them.",
    ),
    click.option(
        "--alertmanager-config",
        type=click.Path(path_type=Path),
        envvar=ALERTMANAGER_CONFIG_VARIABLE,
        metavar="FILE",
        help="Login, TLS and timeout for Alertmanager, in the format of Prometheus' HTTP client (YAML: basic_auth, "
        f"authorization, tls_config, timeout), and labels for every alert; also ${ALERTMANAGER_CONFIG_VARIABLE}.",
    ),
    click.option(
        "--alertmanager-resend",
        "resend_seconds",
        type=bounded_duration(1, 3600, "is not between 1s and 1h"),
        default="60s",
        show_default=True,
        help="Send an alert that holds again after so long. One that is not sent for four times as long is over, "
        "so that a restart of the sender may take that.",
    ),
)
fleet_alerting_options = option_group("alerting", AlertingOptions, *_ALERTMANAGER)
alerting_options = option_group(
    "alerting",
    AlertingOptions,
    *_ALERTMANAGER,
    click.option(
        "--instance",
        envvar=INSTANCE_VARIABLE,
        metavar="NAME",
        help=f"The label instance of alerts; also ${INSTANCE_VARIABLE}. By default the server's address, with this "
        "machine's name where that is the loopback address or a socket.",
    ),
)
