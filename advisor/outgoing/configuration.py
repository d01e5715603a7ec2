"""Files that say how requests are made, in the format of Prometheus' HTTP client configuration.

https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, model_validator

from advisor.files.yaml_file import Seconds

TIMEOUT_SECONDS, _LONGEST_TIMEOUT = 10.0, 60.0


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class _Secret(_Section):
    """A secret, in the configuration or in a file of its own, relative to the configuration's folder."""

    def _one_of(self, name: str) -> None:
        inline, file = getattr(self, name), getattr(self, f"{name}_file")
        if (inline is None) == (file is None):
            raise ValueError(f"needs {name}_file or {name}" + (", not both" if inline is not None else ""))


class BasicAuth(_Secret):
    """A user's name and password (RFC 7617)."""

    username: str = Field(min_length=1)
    password: str | None = Field(None, repr=False)
    password_file: Path | None = None

    @model_validator(mode="after")
    def _whole(self) -> BasicAuth:
        if ":" in self.username:
            raise ValueError("the name of a user cannot hold a colon: basic authentication has it before the password")
        self._one_of("password")
        return self


class Authorization(_Secret):
    """Another Authorization header, by default a bearer token."""

    type: str = Field("Bearer", pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
    credentials: str | None = Field(None, repr=False)
    credentials_file: Path | None = None

    @model_validator(mode="after")
    def _whole(self) -> Authorization:
        if self.type.lower() == "basic":
            raise ValueError("for Basic there is basic_auth")
        self._one_of("credentials")
        return self


class ClientTls(_Section):
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


class HttpConfig(_Section):
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
