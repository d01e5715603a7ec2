"""What Prometheus' configuration files for HTTP servers and clients share: sections, certificates."""

from __future__ import annotations

import ssl
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section of such a file. Errors show no value, which may be a secret."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


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
