"""The web configuration in force: read again when it, or a file it names, has changed."""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from advisor.files.reloading import Followed
from advisor.files.yaml_file import FileError
from advisor.http import tls, web_configuration
from advisor.http.web_configuration import WebConfig

log = logging.getLogger(__name__)

CHECK_SECONDS = 1.0
"""The least time between two looks at the files."""


class Web:
    """A web configuration. While a new version of it is broken, the last good one stays in force.

    Attributes:
        listening: What a listener wraps its connections in; None for plain HTTP.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Read it.

        Raises:
            FileError: Anything in it, or in the files that it names, is wrong.
        """
        self._files = Followed(path)
        self._clock = clock
        self._checked = clock()
        self._config, self._context = self._read()
        self.listening = _Listening(self) if self._context else None

    @property
    def config(self) -> WebConfig:
        """What is in force now."""
        now = self._clock()
        if now - self._checked >= CHECK_SECONDS:
            self._checked = now
            if self._files.changed:
                self._renew()
        return self._config

    def admits(self, certificate: Mapping[str, Any] | None) -> bool:
        """Whether a client that showed this certificate may come in; its signature has been verified."""
        of_now = self.config.tls_server_config
        return of_now is None or tls.admits(of_now.client_allowed_sans, certificate)

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """A new connection's end, by the certificates of now."""
        _ = self.config
        assert self._context is not None  # noqa: S101 - only a listener with TLS asks, and it keeps it
        return self._context.wrap_bio(*arguments, **options)

    def _renew(self) -> None:
        try:
            config, context = self._read()
        except FileError as error:
            log.warning("the old web configuration stays in force: %s", error)
            return
        if (context is None) != (self._context is None):
            log.warning("the old web configuration stays in force: only a new start turns TLS on or off")
            return
        self._config, self._context = config, context
        log.info("loaded the web configuration anew")

    def _read(self) -> tuple[WebConfig, ssl.SSLContext | None]:
        source = self._files.read(web_configuration.load, tls.files)
        return source.content, tls.context(source)


class _Listening(ssl.SSLContext):
    """Wraps every connection in the context that is in force when it is accepted."""

    _web: Web

    def __new__(cls, _: Web) -> _Listening:  # noqa: PYI034 - as SSLContext's own is typed
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, web: Web) -> None:
        self._web = web

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """As ``ssl.SSLContext.wrap_bio``."""
        return self._web.wrap_bio(*arguments, **options)
