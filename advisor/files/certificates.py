"""Certificates that a configuration of an HTTP server or client holds or names."""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import Iterator
from typing import Any

from advisor.files.yaml_file import Document, FileError
from exporter.files import check


def load_certificate(into: ssl.SSLContext, document: Document[Any], section: str) -> None:
    """Load the certificate and the key that a section has as ``cert`` and ``key``, or names as files.

    Raises:
        FileError: They cannot be used.
    """

    def refuse() -> str:  # OpenSSL would ask at the terminal
        raise _error(document, section, "key", "is encrypted; a sidecar has nobody to ask for the passphrase")

    with _pem(document, section, "cert") as certificate, _pem(document, section, "key") as key:
        try:
            into.load_cert_chain(certificate, key, refuse)
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise _error(document, section, "key", "is not the key of the certificate") from None
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(certificate)
            except ssl.SSLError:
                raise _error(document, section, "cert", "holds no PEM certificate") from None
            reason = f" that can be used: {error.reason}" if error.reason else ""
            raise _error(document, section, "key", f"holds no PEM key{reason}") from None


def load_authority(into: ssl.SSLContext, document: Document[Any], section: str, name: str) -> None:
    """Load the authority that a section has or names. Raises FileError."""
    with _pem(document, section, name) as path:
        try:
            into.load_verify_locations(path)
        except ssl.SSLError:
            raise _error(document, section, name, "holds no PEM certificate") from None


@contextlib.contextmanager
def _pem(document: Document[Any], section: str, name: str) -> Iterator[str]:
    """The path of a file; of a file in memory if the configuration itself contains the text."""
    content = getattr(document.content, section)
    inline = getattr(content, name, None)
    if inline is None:
        path = document.path.parent / getattr(content, f"{name}_file")
        try:
            check(path)
        except OSError as error:
            raise _error(document, section, name, f"cannot read it: {error.strerror}") from None
        yield str(path)
        return
    descriptor = os.memfd_create(name)
    try:
        os.write(descriptor, inline.encode())
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _error(document: Document[Any], section: str, name: str, message: str) -> FileError:
    is_inline = getattr(getattr(document.content, section), name, None) is not None
    return document.error((section, name if is_inline else f"{name}_file"), message)
