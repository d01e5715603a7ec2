"""The options of `serve` that say where people find things."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import click

from advisor.cli.options import option_group
from advisor.contract.links import Links

EXTERNAL_VARIABLE = "INNODB_ADVISOR_EXTERNAL_URL"
DASHBOARD_VARIABLE = "INNODB_ADVISOR_DASHBOARD_URL"
ALLOWED_VARIABLE = "INNODB_ADVISOR_ALLOWED_HOSTS"


class Url(click.ParamType[str]):
    """An address of HTTP or HTTPS with a host, perhaps a port, a path and a query; it names no user."""

    name = "url"

    def __init__(self, example: str, instead: str = "leave it out") -> None:
        """Texts of errors.

        Args:
            example: An address that is accepted.
            instead: What to do with a user's name and password.
        """
        self._example, self._instead = example, instead

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Parse; click reports a failure, which never shows a password."""
        written = str(value).strip()
        parts = _split(written)
        if "@" in (parts.netloc if parts else written.partition("?")[0]):
            # What follows is not shown: it may be the password.
            why = f"names a user, and every user of this machine could read the password: {self._instead}"
            self.fail(why, param, ctx)
        if parts is None or not re.fullmatch("[!-~]+", written):
            self.fail(f"{written!r} is not a URL such as {self._example}", param, ctx)
        return written


class BaseUrl(Url):
    """An address that others are made of: without a query, and without a slash at its end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Parse; click reports a failure, which never shows a password."""
        written = super().convert(value, param, ctx)
        if re.search("[?#]", written):
            self.fail(f"{written!r} has more than a path behind the host", param, ctx)
        return written.rstrip("/")


class HostName(click.ParamType[str]):
    """A name of DNS, in lower case: without a scheme, and without a port."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Parse; click reports a failure."""
        written = str(value).strip().lower().removesuffix(".")
        if not re.fullmatch(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*", written):
            self.fail(f"{value!r} is not a name such as advisor.example.com, without scheme and port", param, ctx)
        return written


def _split(written: str) -> SplitResult | None:
    try:
        parts = urlsplit(written)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        return None
    return parts if usable else None


@dataclass(frozen=True, slots=True)
class Addresses:
    """What the options say; None where they say nothing."""

    external_url: str | None
    dashboard_url: str | None
    allowed_hosts: tuple[str, ...] = ()

    def links(self, scheme: str, port: int) -> Links:
        """The links. By default the page has this machine's name.

        Args:
            scheme: Of the listener.
            port: Of the listener.
        """
        return Links(self.external_url or f"{scheme}://{socket.gethostname()}:{port}", self.dashboard_url)


allowed_host_option = click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    type=HostName(),
    envvar=ALLOWED_VARIABLE,
    metavar="NAME",
    help="A name under which browsers may ask for this service, beside addresses, names without a dot, this machine's "
    f"own name and the host of --external-url; may be repeated. ${ALLOWED_VARIABLE} has several, with blanks.",
)
link_options = option_group(
    "addresses",
    Addresses,
    click.option(
        "--external-url",
        type=BaseUrl("https://advisor.example.com/db1"),
        envvar=EXTERNAL_VARIABLE,
        metavar="URL",
        help=f"Where people reach this sidecar, for links in alerts and dashboards; also ${EXTERNAL_VARIABLE}. By "
        "default this machine's name and the port.",
    ),
    click.option(
        "--dashboard-url",
        type=Url("https://grafana.example.com/d/innodb-advisor-lru?var-instance=db1:3306"),
        envvar=DASHBOARD_VARIABLE,
        metavar="URL",
        help=f"A dashboard with this server's metrics, for the page's link to it; also ${DASHBOARD_VARIABLE}.",
    ),
    allowed_host_option,
)
