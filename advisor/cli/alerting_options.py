"""The options of `serve` and `fleet` that are about Alertmanager, and what they make."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from advisor.cli.lazy import load
from advisor.cli.link_options import BaseUrl
from advisor.cli.options import SourceOptions
from advisor.cli.parameters import Duration
from advisor.contract.links import Links

if TYPE_CHECKING:  # only sidecars that send alerts load the HTTP client and TLS
    from advisor.alerting.notifier import Notifier

Command = TypeVar("Command", bound=Callable[..., Any])

URLS_VARIABLE = "INNODB_ADVISOR_ALERTMANAGER"
CONFIG_VARIABLE = "INNODB_ADVISOR_ALERTMANAGER_CONFIG"
INSTANCE_VARIABLE = "INNODB_ADVISOR_INSTANCE"
_API = re.compile("/api/v[12](/alerts)?$")


class _AlertmanagerUrl(BaseUrl):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        written = super().convert(value, param, ctx)
        if found := _API.search(written):
            self.fail(f"{written!r}: leave out {found[0]}, which is added", param, ctx)
        return written


class Resend(Duration):
    """Time between two sendings, a second to an hour."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse; click reports a failure."""
        seconds = super().convert(value, param, ctx)
        if not 1 <= seconds <= 3600:
            self.fail(f"{value!r} is not between 1s and 1h", param, ctx)
        return seconds


@dataclass(frozen=True, slots=True)
class Alerting:
    """What the options say."""

    urls: tuple[str, ...]
    config: Path | None
    resend_seconds: float
    instance: str | None

    def notifier(self, where: SourceOptions, links: Links) -> Notifier | None:
        """What sends alerts; None where no Alertmanager is named.

        Args:
            where: The server or the recording.
            links: Of this sidecar.

        Raises:
            FileError: The configuration file cannot be used.
            click.UsageError: The options do not go together.
        """
        if not self.urls:
            if self.config:
                raise click.UsageError("--alertmanager-config needs an --alertmanager")
            return None
        if where.recording:
            raise click.UsageError("--alertmanager needs a server, not a recording: an alert is about what happens now")
        notifier: Notifier = load("advisor.cli.actions.alerting.notifier")(self, where.server(), links)
        return notifier


def alertmanager_options(command: Command) -> Command:
    """--alertmanager, --alertmanager-config, --alertmanager-resend: ``alerting``."""
    options = (
        click.option(
            "--alertmanager",
            "urls",
            multiple=True,
            type=_AlertmanagerUrl("http://alertmanager:9093", "--alertmanager-config has a place for it"),
            envvar=URLS_VARIABLE,
            metavar="URL",
            help="Post findings to this Alertmanager as alerts; once for each member of a cluster, as every one gets "
            f"every alert. Also ${URLS_VARIABLE}, with blanks between them.",
        ),
        click.option(
            "--alertmanager-config",
            type=click.Path(path_type=Path),
            envvar=CONFIG_VARIABLE,
            metavar="FILE",
            help="Login, TLS and timeout for Alertmanager, in the format of Prometheus' HTTP client (YAML: basic_auth, "
            f"authorization, tls_config, timeout), and labels for every alert; also ${CONFIG_VARIABLE}.",
        ),
        click.option(
            "--alertmanager-resend",
            type=Resend(),
            default="60s",
            show_default=True,
            help="Send an alert that holds again after so long. One that is not sent for four times as long is over, "
            "so that a restart of the sender may take that.",
        ),
    )

    @functools.wraps(command)
    def with_alerting(
        *,
        urls: tuple[str, ...],
        alertmanager_config: Path | None,
        alertmanager_resend: float,
        instance: str | None = None,
        **others: Any,
    ) -> Any:
        told = tuple(dict.fromkeys(urls))
        made = Alerting(told, alertmanager_config, alertmanager_resend, instance or None)
        return command(alerting=made, **others)

    for option in reversed(options):
        with_alerting = option(with_alerting)
    return with_alerting  # type: ignore[return-value]


def alerting_options(command: Command) -> Command:
    """The same, and --instance, which names the one server that the alerts are about."""
    instance = click.option(
        "--instance",
        envvar=INSTANCE_VARIABLE,
        metavar="NAME",
        help=f"The label instance of alerts; also ${INSTANCE_VARIABLE}. By default the server's address, with this "
        "machine's name where that is the loopback address or a socket.",
    )
    return alertmanager_options(instance(command))
