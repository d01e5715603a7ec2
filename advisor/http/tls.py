"""The SSL context of a web configuration."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import ssl
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from advisor.files.tls_files import Encrypted, load_chain
from advisor.files.yaml_file import Document, FileError
from advisor.http.web_configuration import CIPHERS, CURVES, ServerTls, WebConfig
from exporter.files import check

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_SUITES = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2, by default: forward secrecy and authenticated encryption (RFC 9325, section 4.2)."""
_VERIFY = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}


def files(document: Document[WebConfig]) -> tuple[Path, ...]:
    """The files that it names."""
    tls = document.content.tls_server_config
    named = (tls.cert_file, tls.key_file, tls.client_ca_file) if tls else ()
    return tuple(document.path.parent / each for each in named if each)


def context(document: Document[WebConfig]) -> ssl.SSLContext | None:
    """The context for connections; None for plain HTTP.

    Raises:
        FileError: A file it names cannot be used.
    """
    tls = document.content.tls_server_config
    if tls is None:
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version, made.maximum_version = _VERSIONS[tls.min_version], _VERSIONS[tls.max_version]
    made.set_alpn_protocols(["http/1.1"])
    made.set_ciphers(":".join(filter(None, map(CIPHERS.__getitem__, tls.cipher_suites))) or _SUITES)
    if not tls.prefer_server_cipher_suites:
        made.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    for curve in tls.curve_preferences:
        made.set_ecdh_curve(CURVES[curve])
    _load_certificate(document, tls, made)
    made.verify_mode = _VERIFY[tls.client_auth_type]
    if made.verify_mode != ssl.CERT_NONE:
        with _named(document, tls, "client_ca") as path:
            try:
                made.load_verify_locations(path)
            except ssl.SSLError:
                raise _error(document, tls, "client_ca", "holds no PEM certificate") from None
    return made


def names(certificate: Mapping[str, Any] | None) -> set[str]:
    """The subject alternative names of a certificate that ``getpeercert`` returned: DNS, IP, e-mail and URI."""
    found = set()
    for kind, name in (certificate or {}).get("subjectAltName", ()):
        found.add(str(ipaddress.ip_address(name)) if kind == "IP Address" else name)
    return found


def admits(allowed: Collection[str], certificate: Mapping[str, Any] | None) -> bool:
    """Whether a client with this certificate may connect: any client, or one with one of the allowed names."""
    return not allowed or not names(certificate).isdisjoint(allowed)


def _load_certificate(document: Document[WebConfig], tls: ServerTls, into: ssl.SSLContext) -> None:
    with _named(document, tls, "cert") as certificate, _named(document, tls, "key") as key:
        try:
            load_chain(into, certificate, key)
        except Encrypted as error:
            raise _error(document, tls, "key", str(error)) from None
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise _error(document, tls, "key", "is not the key of the certificate") from None
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(certificate)
            except ssl.SSLError:
                raise _error(document, tls, "cert", "holds no PEM certificate") from None
            reason = f" that can be used: {error.reason}" if error.reason else ""
            raise _error(document, tls, "key", f"holds no PEM key{reason}") from None


@contextlib.contextmanager
def _named(document: Document[WebConfig], tls: ServerTls, name: str) -> Iterator[str]:
    """The path of a file; of a file in memory if the configuration itself contains the text."""
    inline, file = getattr(tls, name), getattr(tls, f"{name}_file")
    if inline is None:
        path = document.path.parent / file
        try:
            check(path)
        except OSError as error:
            raise _error(document, tls, name, f"cannot read it: {error.strerror}") from None
        yield str(path)
        return
    descriptor = os.memfd_create(name)
    try:
        os.write(descriptor, inline.encode())
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _error(document: Document[WebConfig], tls: ServerTls, name: str, message: str) -> FileError:
    key = name if getattr(tls, name) is not None else f"{name}_file"
    return document.error(("tls_server_config", key), message)
