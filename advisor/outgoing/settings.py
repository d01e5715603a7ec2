"""Login, TLS and timeout of requests: a file in the format of Prometheus' HTTP client configuration.

https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config.
"""

from __future__ import annotations

import base64
import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, StrictBool, model_validator

from advisor.files import yaml_file
from advisor.files.certificates import load_authority, load_certificate
from advisor.files.yaml_file import Document, FileModel, Seconds
from exporter import files

_SHAPE = "this configuration is a mapping with basic_auth, authorization, tls_config, timeout"
TIMEOUT_SECONDS, _LONGEST_TIMEOUT = 10.0, 60.0


class BasicAuth(FileModel):
    """A user's name and password (RFC 7617)."""

    username: str = Field(min_length=1)
    password: str | None = Field(None, repr=False)
    password_file: Path | None = None

    @model_validator(mode="after")
    def _whole(self) -> BasicAuth:
        if ":" in self.username:
            raise ValueError("the name of a user cannot hold a colon: basic authentication has it before the password")
        _require_one("password", self.password, self.password_file)
        return self


class Authorization(FileModel):
    """Another Authorization header, by default a bearer token."""

    type: str = Field("Bearer", pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
    credentials: str | None = Field(None, repr=False)
    credentials_file: Path | None = None

    @model_validator(mode="after")
    def _whole(self) -> Authorization:
        if self.type.lower() == "basic":
            raise ValueError("for Basic there is basic_auth")
        _require_one("credentials", self.credentials, self.credentials_file)
        return self


def _require_one(name: str, inline: str | None, file: Path | None) -> None:
    """A secret is in the configuration or in a file of its own, relative to the configuration's folder."""
    if (inline is None) == (file is None):
        raise ValueError(f"needs {name}_file or {name}" + (", not both" if inline is not None else ""))


class ClientTls(FileModel):
    """Certificates to trust, and the client's own. Without ``ca_file`` the system's authorities are trusted."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    server_name: str | None = Field(None, min_length=1)
    insecure_skip_verify: StrictBool = False

    @model_validator(mode="after")
    def _whole(self) -> ClientTls:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file belong together")
        return self


def _timeout(seconds: float) -> float:
    if not 0 < seconds <= _LONGEST_TIMEOUT:
        raise ValueError(f"must be more than 0s, and {_LONGEST_TIMEOUT:g}s at most")
    return seconds


class HttpConfig(FileModel):
    """The file."""

    basic_auth: BasicAuth | None = None
    authorization: Authorization | None = None
    tls_config: ClientTls = ClientTls()
    timeout: Annotated[Seconds, AfterValidator(_timeout)] = TIMEOUT_SECONDS

    @model_validator(mode="after")
    def _one_login(self) -> HttpConfig:
        if self.basic_auth and self.authorization:
            raise ValueError("has both basic_auth and authorization")
        return self


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How requests are made, with all files read.

    Attributes:
        authorization: The header's value; None to send none. repr() does not show it.
        tls: For https; a context that trusts nobody where no URL is https.
        server_name: The name that the certificate must have, where it is not the URL's host.
        timeout: Limit for a request, seconds.
    """

    authorization: str | None
    tls: ssl.SSLContext
    server_name: str | None
    timeout: float

    def __repr__(self) -> str:
        """Without secrets."""
        return f"ClientSettings(timeout={self.timeout:g})"


def read(path: Path | None, url: str, timeout: float) -> ClientSettings:
    """The settings for a URL.

    Args:
        path: The configuration; None for the defaults.
        url: Of the service.
        timeout: Limit for a request where the configuration has none, seconds.

    Raises:
        FileError: Anything in the file, or in one that it names, is wrong; the text shows no secret.
    """
    document = None if path is None else yaml_file.read(path, HttpConfig, _SHAPE)
    return client_settings(document, encrypted=url.startswith("https:"), timeout=timeout)


def client_settings(
    document: Document[HttpConfig] | None, *, encrypted: bool, timeout: float = TIMEOUT_SECONDS
) -> ClientSettings:
    """The settings of a configuration.

    Args:
        document: The configuration; None for the defaults.
        encrypted: Whether any URL is https.
        timeout: Limit for a request where the configuration has none, seconds.

    Raises:
        FileError: Anything in a file that it names is wrong; the text shows no secret.
    """
    if document is None:
        return ClientSettings(None, _context(ClientTls(), encrypted=encrypted), None, timeout)
    config = document.content
    context = _context(config.tls_config, encrypted=encrypted)
    if config.tls_config.ca_file:
        load_authority(context, document, "tls_config", "ca")
    if config.tls_config.cert_file:
        load_certificate(context, document, "tls_config")
    timeout = config.timeout if "timeout" in config.model_fields_set else timeout
    return ClientSettings(_authorization(document), context, config.tls_config.server_name, timeout)


def named_files(document: Document[HttpConfig]) -> tuple[Path, ...]:
    """The files that a configuration names."""
    config, tls = document.content, document.content.tls_config
    named = [tls.ca_file, tls.cert_file, tls.key_file]
    named += [config.basic_auth.password_file] if config.basic_auth else []
    named += [config.authorization.credentials_file] if config.authorization else []
    return tuple(document.path.parent / file for file in named if file)


def _authorization(document: Document[HttpConfig]) -> str | None:
    config = document.content
    if config.basic_auth:
        password = _secret(document, "basic_auth", "password", config.basic_auth.password)
        login = f"{config.basic_auth.username}:{password}"
        return f"Basic {base64.b64encode(login.encode()).decode()}"
    if config.authorization:
        credentials = _secret(document, "authorization", "credentials", config.authorization.credentials)
        if not re.fullmatch("[!-~][ -~]*", credentials):
            key = "credentials" if config.authorization.credentials is not None else "credentials_file"
            raise document.error(("authorization", key), "must be one line of ASCII text")
        return f"{config.authorization.type} {credentials}"
    return None


def _secret(document: Document[HttpConfig], part: str, name: str, inline: str | None) -> str:
    """A secret; without the surrounding white space where it is read from a file."""
    if inline is not None:
        return inline
    file: Path = getattr(getattr(document.content, part), f"{name}_file")
    try:
        return files.text(document.path.parent / file).strip()
    except OSError as error:
        raise document.error((part, f"{name}_file"), f"cannot read it: {error.strerror}") from None


def _context(tls: ClientTls, *, encrypted: bool) -> ssl.SSLContext:
    if encrypted and tls.ca_file is None and not tls.insecure_skip_verify:
        context = ssl.create_default_context()
    else:  # loading the system's authorities is most of the cost of a context
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    # Python 3.13 requires extensions that certificates of a private authority may lack.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
