"""The web configuration in force: loaded again when it, or a file that it names, changes."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from advisor.files.reloading import Reloader, Watch
from advisor.files.yaml_file import FileError
from advisor.http import tls, web_configuration
from advisor.http.web_configuration import WebConfig

CHECK_SECONDS = 1.0
"""The least time between two looks at the files."""


class WebSettings:
    """A web configuration. While a new version of it is broken, the last good one stays in force.

    Attributes:
        listening: What a listener wraps its connections in; None for plain HTTP.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Load it.

        Args:
            path: The file.
            clock: Seconds, monotonic.

        Raises:
            FileError: Anything in it, or in the files that it names, is wrong.
        """
        self._path, self._clock = path, clock
        self._checked = clock()
        self._has_tls: bool | None = None
        self._files = Reloader(
            self._load,
            refused="the old web configuration stays in force",
            loaded="loaded the web configuration anew",
        )
        self.listening = _Listening(self) if self._files.content[1] else None

    @property
    def config(self) -> WebConfig:
        """The configuration in force."""
        return self._now()[0]

    def admits(self, certificate: Mapping[str, Any] | None) -> bool:
        """Whether a client with this certificate may connect; its signature is verified already."""
        served = self.config.tls_server_config
        return served is None or tls.admits(served.client_allowed_sans, certificate)

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """This side of a new connection, with the certificates in force."""
        context = self._now()[1]
        assert context is not None  # noqa: S101 - only a listener with TLS calls this, and TLS is never turned off
        return context.wrap_bio(*arguments, **options)

    def _now(self) -> tuple[WebConfig, ssl.SSLContext | None]:
        now = self._clock()
        if now - self._checked >= CHECK_SECONDS:
            self._checked = now
            self._files.refresh()
        return self._files.content

    def _load(self, watch: Watch) -> tuple[WebConfig, ssl.SSLContext | None]:
        watch.add(lambda: (self._path,))
        document = web_configuration.load(self._path)
        named = tls.files(document)
        watch.add(lambda: named)
        context = tls.context(document)
        if self._has_tls not in (None, context is not None):
            raise FileError("only a new start turns TLS on or off")
        self._has_tls = context is not None
        return document.content, context


class _Listening(ssl.SSLContext):
    """Wraps each connection in the context that is in force when it is accepted."""

    _settings: WebSettings

    def __new__(cls, _: WebSettings) -> _Listening:  # noqa: PYI034 - as SSLContext's own is typed
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, settings: WebSettings) -> None:
        self._settings = settings

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """As ``ssl.SSLContext.wrap_bio``."""
        return self._settings.wrap_bio(*arguments, **options)
