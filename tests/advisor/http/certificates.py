"""Certificates of a test authority."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Issued:
    """A certificate and its key, PEM files."""

    cert: Path
    key: Path
    serial: int


def _names(sans: tuple[str, ...]) -> list[x509.GeneralName]:
    def one(name: str) -> x509.GeneralName:
        if "://" in name:
            return x509.UniformResourceIdentifier(name)
        if "@" in name:
            return x509.RFC822Name(name)
        try:
            return x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            return x509.DNSName(name)

    return [one(name) for name in sans]


class Authority:
    """A certificate authority; its own certificate is ``ca``."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.ca = folder / "ca.pem"
        certificate = self._builder(self._name, self._key).add_extension(
            x509.BasicConstraints(True, None), critical=True
        )
        self.ca.write_bytes(certificate.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
        )

    def issue(self, name: str, *sans: str, password: bytes | None = None) -> Issued:
        """Create ``name``.pem and ``name``.key; by default for this machine's names."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        alternative = x509.SubjectAlternativeName(_names(sans or ("localhost", "127.0.0.1")))
        certificate = (
            self._builder(subject, key).add_extension(alternative, critical=False).sign(self._key, hashes.SHA256())
        )
        issued = Issued(self._folder / f"{name}.pem", self._folder / f"{name}.key", certificate.serial_number)
        issued.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        protection = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        issued.key.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection)
        )
        return issued

    def trusting(self, own: Issued | None = None) -> ssl.SSLContext:
        """The TLS context of a client that trusts this authority, with an optional client certificate."""
        context = ssl.create_default_context(cafile=self.ca)
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # no key identifiers here
        if own:
            context.load_cert_chain(own.cert, own.key)
        return context
