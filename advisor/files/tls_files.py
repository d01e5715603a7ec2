"""Certificates and keys in files."""

from __future__ import annotations

import ssl
from pathlib import Path


class Encrypted(Exception):
    """A key asks for a passphrase; the text says what that means here."""


def load_chain(into: ssl.SSLContext, certificate: Path | str, key: Path | str) -> None:
    """Load a certificate and its key.

    Raises:
        Encrypted: The key asks for a passphrase.
        ssl.SSLError: They cannot be used.
    """

    def refuse() -> str:  # OpenSSL would ask at the terminal
        raise Encrypted("is encrypted; a sidecar has nobody to ask for the passphrase")

    into.load_cert_chain(certificate, key, refuse)
