"""The port of `serve`, `fleet` and `mcp`: taken, logged, and served by an application behind the guard."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from advisor.cli.output import Unusable
from advisor.cli.service_options import Addresses
from advisor.files.yaml_file import FileError
from advisor.http import server as http
from advisor.http.browsers import Names
from advisor.http.foundation import Application
from advisor.http.guard import Guard
from advisor.http.web_settings import WebSettings
from advisor.rules.rulebook import Rulebook

log = logging.getLogger("innodb-advisor")


def serve(
    address: tuple[str, int],
    web_config: Path | None,
    addresses: Addresses,
    compose: Callable[[str, int], Application],
) -> None:
    """Take a port, and serve an application there until SIGINT or SIGTERM.

    Args:
        address: Host, empty for every address, and port.
        web_config: The file of TLS and logins, which is read before the port is taken; None for neither.
        addresses: The names that it may be asked under.
        compose: Makes the application, for the scheme and the port of its URLs.

    Raises:
        Unusable: The address cannot be used.
        FileError: The web configuration cannot be used.
    """
    web = None if web_config is None else WebSettings(web_config)
    host, port = address
    try:
        listener = http.listen(host, port)
    except OSError as error:
        reason = str(error.strerror or error).partition(" (while")[0]  # Python appends the address again
        raise Unusable(f"cannot listen on {host or '*'}:{port}: {reason}") from error
    with listener:
        has_tls, local, port = bool(web and web.listening), http.is_local(listener), int(listener.getsockname()[1])
        scheme = "https" if has_tls else "http"
        app = compose(scheme, port)
        if web and web.config.users and not (has_tls or local):
            log.warning("passwords go over the network in the clear: the web configuration has users, but no TLS")
        log.info("serving on %s://%s:%s/", scheme, _shown(host), port)
        http.run(guarded(app, web, addresses, local=local), listener, web)


def guarded(app: Application, web: WebSettings | None, addresses: Addresses, *, local: bool) -> Guard:
    """An application behind the guard.

    Args:
        app: The application.
        web: TLS and logins; None for neither.
        addresses: The names that it may be asked under.
        local: Whether only processes of this machine can connect.
    """
    allowed = (*addresses.allowed_hosts, *(() if local else (socket.gethostname(),)))
    return Guard(app, web, names=Names(allowed, addresses.external_url, local=local))


def reload_on_hangup(rules: Rulebook) -> None:
    """Read the rules again at SIGHUP."""

    def reload() -> None:
        with contextlib.suppress(FileError):  # it is logged
            rules.reload()

    # In its own thread: checking rules takes a moment, during which scrapes go on.
    signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=reload, name="reload").start())


def _shown(host: str) -> str:
    """The host in a URL that reaches the listener from this machine."""
    if host in ("", "0.0.0.0"):  # noqa: S104 - a comparison
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
