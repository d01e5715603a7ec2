"""`fleet --listen`: the service, composed of the watch, alerts and the HTTP server."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import click

from advisor.alerting.alert import OWN_LABELS
from advisor.alerting.fleet_notifier import CAPACITY, FleetNotifier
from advisor.cli import logs
from advisor.cli.actions.alerting import deliveries
from advisor.cli.actions.listening import listening, reload_on_hangup
from advisor.cli.fleet_service_options import ServiceOptions
from advisor.contract.fleet import FleetReport
from advisor.fleet.progress import Progress
from advisor.fleet.watch import Watch
from advisor.http import fleet_app
from advisor.http.web_settings import WebSettings
from advisor.rules.rulebook import Rulebook


def serve(
    service: ServiceOptions,
    read: Callable[[Progress], Awaitable[FleetReport]],
    book: Rulebook,
    identity: tuple[str, ...] = (),
) -> None:
    """Serve until a signal ends it. Every file is read before the port is taken.

    Args:
        service: The options.
        read: Reads the fleet once, by the rules that are in force then.
        book: The rules.
        identity: The labels of --identity.

    Raises:
        click.UsageError: The options do not go together.
        Unusable: The address cannot be used.
        FileError: A file cannot be used.
    """
    alerting = service.alerting
    if alerting.config and not alerting.urls:
        raise click.UsageError("--alertmanager-config needs an --alertmanager")
    if alerting.urls and (taken := [each for each in identity if each in OWN_LABELS - {"instance"}]):
        raise click.UsageError(f"--identity {taken[0]}: alerts have a label {taken[0]} of their own")
    logs.begin(logging.INFO)
    web = None if service.web_config is None else WebSettings(service.web_config)
    ways = deliveries(alerting, CAPACITY) if alerting.urls else None
    watch = Watch(read, service.every)
    with listening(service.listen, web) as listener:
        links = service.addresses.links(listener.scheme, listener.port)
        notifier = ways and FleetNotifier(ways, watch, book, links, alerting.resend_seconds)
        reload_on_hangup(book)
        background = [book.run, *([notifier.run] if notifier else [])]
        app = fleet_app.create(watch, book, background, [notifier.families] if notifier else [], links)
        listener.run(app, service.addresses)
