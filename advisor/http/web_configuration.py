"""The web configuration file, in the format of Prometheus' exporter-toolkit: TLS, logins, headers, a rate limit.

The keys: https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md. The schema
rejects keys that Python's TLS cannot support; docs/security.md lists them, and the keys that do nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, model_validator

from advisor.files import yaml_file
from advisor.files.yaml_file import Document, FileModel, Seconds

_SHAPE = "a web configuration is a mapping with tls_server_config, http_server_config, basic_auth_users, rate_limit"
_HASH = re.compile(r"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}")
_COSTS = range(4, 32)
_OLD = "TLS 1.0 and 1.1 are not served (RFC 8996): TLS12 or TLS13"
_UNVERIFIED = (
    "a certificate that nobody verifies lets anyone in, and Python's TLS cannot ask for one: "
    "use RequireAndVerifyClientCert or VerifyClientCertIfGiven"
)
_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("TLS10", "TLS11"), _OLD),
    **dict.fromkeys(("RequestClientCert", "RequireClientCert", "RequireAnyClientCert"), _UNVERIFIED),
}
"""Values that the toolkit takes, with the reason why they are refused here."""
CIPHERS: Mapping[str, str | None] = {
    "TLS_AES_128_GCM_SHA256": None,
    "TLS_AES_256_GCM_SHA384": None,
    "TLS_CHACHA20_POLY1305_SHA256": None,
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
}
"""OpenSSL's names of cipher suites by Go's (crypto/tls); None for TLS 1.3, whose suites are always on, as in Go."""
CURVES: Mapping[str, str] = {
    "CurveP256": "prime256v1",
    "CurveP384": "secp384r1",
    "CurveP521": "secp521r1",
    "X25519": "X25519",
}
"""OpenSSL's names of curves by Go's."""


def _bcrypt(written: str) -> str:
    match = _HASH.fullmatch(written)
    if not match or int(match[1]) not in _COSTS:
        # The message does not show the value: it may be the password itself.
        raise ValueError("must be a bcrypt hash, which begins with $2y$; htpasswd -nBC 10 USER makes one")
    return written


def _user(written: str) -> str:
    if ":" in written:
        raise ValueError("the name of a user cannot hold a colon: basic authentication has it before the password")
    return written


def _offered(written: object) -> object:
    """Explain why a value of the toolkit is refused."""
    if isinstance(written, str) and written in _REFUSED:
        raise ValueError(_REFUSED[written])
    return written


def _suites(written: tuple[str, ...]) -> tuple[str, ...]:
    for name in written:
        if name not in CIPHERS:
            raise ValueError(f"there is no cipher suite {name}; there are {', '.join(CIPHERS)}")
    if written and not any(map(CIPHERS.__getitem__, written)):
        raise ValueError(
            "names no suite of TLS 1.2, and those of TLS 1.3 are always on: set min_version: TLS13 instead"
        )
    return written


def _curves(written: tuple[str, ...]) -> tuple[str, ...]:
    for name in written:
        if name not in CURVES:
            raise ValueError(f"there is no curve {name}; there are {', '.join(CURVES)}")
    if len(written) > 1:
        raise ValueError("Python's TLS can be told one curve, not an order of several: name one, or leave it out")
    return written


def _header(written: str) -> str:
    if not re.fullmatch(r"[\t\x20-\x7e]*", written):
        raise ValueError("a header is one line of ASCII text")
    return written


Header = Annotated[str, AfterValidator(_header)]
Version = Annotated[Literal["TLS12", "TLS13"], BeforeValidator(_offered)]
ClientAuth = Annotated[
    Literal["NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"], BeforeValidator(_offered)
]


class ServerTls(FileModel):
    """TLS for connections to the sidecar; paths are relative to the file's folder."""

    cert: str | None = None
    key: str | None = Field(None, repr=False)
    client_ca: str | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    client_ca_file: Path | None = None
    client_auth_type: ClientAuth = "NoClientCert"
    client_allowed_sans: tuple[str, ...] = ()
    min_version: Version = "TLS12"
    max_version: Version = "TLS13"
    cipher_suites: Annotated[tuple[str, ...], AfterValidator(_suites)] = ()
    prefer_server_cipher_suites: StrictBool = True
    curve_preferences: Annotated[tuple[str, ...], AfterValidator(_curves)] = ()

    @model_validator(mode="after")
    def _whole(self) -> ServerTls:
        for name in ("cert", "key", "client_ca"):
            inline, file = getattr(self, name), getattr(self, f"{name}_file")
            if inline and file:
                raise ValueError(f"has both {name} and {name}_file")
            if not (inline or file or name == "client_ca"):
                raise ValueError(f"needs {name}_file (or {name})")
        has_ca = bool(self.client_ca or self.client_ca_file)
        if has_ca and self.client_auth_type == "NoClientCert":
            raise ValueError("has a client CA, but no client_auth_type that asks for a certificate of it")
        if not has_ca and self.client_auth_type != "NoClientCert":
            raise ValueError(f"client_auth_type {self.client_auth_type} needs client_ca_file (or client_ca)")
        if self.client_allowed_sans and self.client_auth_type != "RequireAndVerifyClientCert":
            raise ValueError("client_allowed_sans needs client_auth_type: RequireAndVerifyClientCert")
        if self.min_version > self.max_version:
            raise ValueError("min_version is above max_version")
        return self


class Headers(FileModel):
    """Headers of every response. Each replaces the sidecar's own header, unless it is blank."""

    content_security_policy: Header = Field("", alias="Content-Security-Policy")
    x_frame_options: Literal["deny", "sameorigin", ""] = Field("", alias="X-Frame-Options")
    x_content_type_options: Literal["nosniff", ""] = Field("", alias="X-Content-Type-Options")
    x_xss_protection: Header = Field("", alias="X-XSS-Protection")
    strict_transport_security: Header = Field("", alias="Strict-Transport-Security")

    def configured(self) -> Iterator[tuple[str, str]]:
        """Name in lower case and value of each header that is not blank."""
        for name, value in self.model_dump(by_alias=True).items():
            if value:
                yield name.lower(), value


class Http(FileModel):
    """HTTP for connections to the sidecar. ``http2`` has no effect: the sidecar speaks HTTP/1.1."""

    http2: StrictBool = True
    headers: Headers | None = None


class RateLimit(FileModel):
    """A limit for all requests together: a burst, then one request an interval (seconds; 0 for no limit)."""

    interval: Seconds = 0.0
    burst: Annotated[int, Field(ge=0, strict=True)] = 0

    @model_validator(mode="after")
    def _lets_something_through(self) -> RateLimit:
        if self.interval and not self.burst:
            raise ValueError("with a burst of 0 no request would ever be answered")
        return self


Users = dict[Annotated[str, AfterValidator(_user)], Annotated[str, AfterValidator(_bcrypt)]]


class WebConfig(FileModel):
    """The file. Logins need ``basic_auth_users``, and HTTPS needs ``tls_server_config``."""

    tls_server_config: ServerTls | None = None
    http_server_config: Http | None = None
    basic_auth_users: Users | None = Field(None, repr=False)
    rate_limit: RateLimit | None = None

    @property
    def users(self) -> Mapping[str, str]:
        """Users and the bcrypt hashes of their passwords."""
        return self.basic_auth_users or {}

    @property
    def headers(self) -> Headers:
        """The headers to add."""
        return (self.http_server_config and self.http_server_config.headers) or Headers()


def load(path: Path) -> Document[WebConfig]:
    """Read a web configuration; the files that it names are not read.

    Raises:
        FileError: It cannot be read, or anything in it is wrong; the text shows no password and no hash.
    """
    return yaml_file.read(path, WebConfig, _SHAPE)
