"""The senders of `serve --alertmanager` and `fleet --alertmanager`."""

from __future__ import annotations

import ipaddress
import logging
import socket
from urllib.parse import urlsplit

from advisor.alerting.configuration import alert_settings
from advisor.alerting.deliveries import Deliveries
from advisor.alerting.delivery import CAPACITY, Alertmanager
from advisor.alerting.notifier import Notifier
from advisor.cli.alerting_options import Alerting
from advisor.contract.links import Links
from exporter.connection.target import Target

log = logging.getLogger(__name__)


def notifier(alerting: Alerting, server: Target, links: Links) -> Notifier:
    """The sender of a sidecar's alerts.

    Args:
        alerting: The options, with at least one Alertmanager.
        server: The server that the alerts are about.
        links: Of the sidecar.

    Raises:
        FileError: The configuration file cannot be used.
    """
    return Notifier(
        deliveries(alerting),
        instance=alerting.instance or _instance(server),
        links=links,
        resend_seconds=alerting.resend_seconds,
    )


def deliveries(alerting: Alerting, capacity: int = CAPACITY) -> Deliveries:
    """The ways to the Alertmanagers.

    Args:
        alerting: The options, with at least one Alertmanager.
        capacity: Alerts that may wait for each of them.

    Raises:
        FileError: The configuration file cannot be used.
    """
    logging.getLogger("httpcore").setLevel(logging.WARNING)  # else a line for each step of a request
    settings = alert_settings(alerting.config, encrypted=any(url.startswith("https:") for url in alerting.urls))
    for url in alerting.urls:
        login = settings.content.client.authorization
        if login and url.startswith("http:") and not _is_local(urlsplit(url).hostname or ""):
            log.warning("the login for Alertmanager goes over the network in the clear: %s has no TLS", url)
    return Deliveries(
        [Alertmanager(url, lambda: settings.content.client, capacity=capacity) for url in alerting.urls], settings
    )


def _instance(server: Target) -> str:
    if server.socket or _is_local(server.host):
        return f"{socket.gethostname()}:{server.port}"
    return server.address


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
