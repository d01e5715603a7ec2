"""The notifier of `serve --alertmanager`."""

from __future__ import annotations

import ipaddress
import logging
import socket
from urllib.parse import urlsplit

from advisor.alerting.client import client_settings
from advisor.alerting.delivery import Alertmanager
from advisor.alerting.notifier import Notifier
from advisor.cli.alerting_options import Alerting
from advisor.contract.links import Links
from exporter.connection.target import Target

log = logging.getLogger(__name__)


def notifier(alerting: Alerting, server: Target, links: Links) -> Notifier:
    """The sender of alerts.

    Args:
        alerting: The options, with at least one Alertmanager.
        server: The server that the alerts are about.
        links: Of the sidecar.

    Raises:
        FileError: The configuration file cannot be used.
    """
    logging.getLogger("httpcore").setLevel(logging.WARNING)  # else a line for each step of a request
    settings = client_settings(alerting.config, encrypted=any(url.startswith("https:") for url in alerting.urls))
    for url in alerting.urls:
        if settings.content.authorization and url.startswith("http:") and not _is_local(urlsplit(url).hostname or ""):
            log.warning("the login for Alertmanager goes over the network in the clear: %s has no TLS", url)
    return Notifier(
        [Alertmanager(url, lambda: settings.content) for url in alerting.urls],
        settings,
        instance=alerting.instance or _instance(server),
        links=links,
        resend_seconds=alerting.resend_seconds,
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
