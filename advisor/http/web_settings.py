"""The web configuration in force: loaded again when it, or a file that it names, changes. And its SSL context."""

from __future__ import annotations

import ipaddress
import ssl
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from advisor.files.certificates import load_authority, load_certificate
from advisor.files.reloading import Reloader, Watch
from advisor.files.yaml_file import Document, FileError
from advisor.http import web_configuration
from advisor.http.web_configuration import CIPHERS, CURVES, WebConfig

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_SUITES = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2, by default: forward secrecy and authenticated encryption (RFC 9325, section 4.2)."""
_VERIFY = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
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
        allowed = served.client_allowed_sans if served else ()
        return not allowed or not _names(certificate).isdisjoint(allowed)

    @property
    def context(self) -> ssl.SSLContext | None:
        """The certificates in force; None for plain HTTP."""
        return self._now()[1]

    def _now(self) -> tuple[WebConfig, ssl.SSLContext | None]:
        now = self._clock()
        if now - self._checked >= CHECK_SECONDS:
            self._checked = now
            self._files.refresh()
        return self._files.content

    def _load(self, watch: Watch) -> tuple[WebConfig, ssl.SSLContext | None]:
        watch(lambda: (self._path,))
        document = web_configuration.load(self._path)
        named = _files(document)
        watch(lambda: named)
        context = _context(document)
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
        context = self._settings.context
        assert context is not None  # noqa: S101 - a listener with TLS has it, and TLS is never turned off
        return context.wrap_bio(*arguments, **options)


def _files(document: Document[WebConfig]) -> tuple[Path, ...]:
    """The files that it names."""
    tls = document.content.tls_server_config
    named = (tls.cert_file, tls.key_file, tls.client_ca_file) if tls else ()
    return tuple(document.path.parent / file for file in named if file)


def _context(document: Document[WebConfig]) -> ssl.SSLContext | None:
    """The context for connections; None for plain HTTP.

    Raises:
        FileError: A file it names cannot be used.
    """
    tls = document.content.tls_server_config
    if tls is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version, context.maximum_version = _VERSIONS[tls.min_version], _VERSIONS[tls.max_version]
    context.set_alpn_protocols(["http/1.1"])
    context.set_ciphers(":".join(filter(None, map(CIPHERS.__getitem__, tls.cipher_suites))) or _SUITES)
    if not tls.prefer_server_cipher_suites:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    for curve in tls.curve_preferences:
        context.set_ecdh_curve(CURVES[curve])
    load_certificate(context, document, "tls_server_config")
    context.verify_mode = _VERIFY[tls.client_auth_type]
    if context.verify_mode != ssl.CERT_NONE:
        load_authority(context, document, "tls_server_config", "client_ca")
    return context


def _names(certificate: Mapping[str, Any] | None) -> set[str]:
    """The subject alternative names of a certificate that ``getpeercert`` returned: DNS, IP, e-mail and URI."""
    names = (certificate or {}).get("subjectAltName", ())
    return {str(ipaddress.ip_address(name)) if kind == "IP Address" else name for kind, name in names}
