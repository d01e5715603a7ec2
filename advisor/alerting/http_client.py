"""How Alertmanagers are spoken to now: the configuration and the files that it names, read again when they change."""

from __future__ import annotations

import base64
import logging
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from advisor.alerting import configuration
from advisor.alerting.configuration import TIMEOUT_SECONDS, HttpConfig, Tls
from advisor.files.reloading import Followed
from advisor.files.tls_files import Encrypted, load_chain
from advisor.files.yaml_file import FileError, Source

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Way:
    """How to speak to Alertmanagers, with all files read.

    Attributes:
        authorization: The header's value; None to send none. It is kept out of repr().
        tls: For https; one that trusts nobody where it is not needed.
        server_name: Whose certificate is expected, where it is not that of the URL's host.
        timeout: Seconds that a request may take.
        labels: Added to every alert.
    """

    authorization: str | None
    tls: ssl.SSLContext
    server_name: str | None
    timeout: float
    labels: Mapping[str, str]

    def __repr__(self) -> str:
        """Without secrets."""
        return f"Way(timeout={self.timeout:g})"


class Ways:
    """The way in force: read again when the file, or one that it names, has changed, and kept while those are broken.

    Attributes:
        now: The one in force.
    """

    def __init__(self, path: Path | None, *, encrypted: bool) -> None:
        """Read it.

        Args:
            path: The file; None for what holds without one.
            encrypted: Whether any Alertmanager is reached by https.

        Raises:
            FileError: Anything in it, or in the files that it names, is wrong; no secret is in the text.
        """
        self._files = None if path is None else Followed(path)
        self._encrypted = encrypted
        self.now = self._read()

    def renew(self) -> None:
        """Look whether the files have changed."""
        if self._files is None or not self._files.changed:
            return
        try:
            self.now = self._read()
        except FileError as error:
            log.warning("the old configuration for Alertmanager stays in force: %s", error)
        else:
            log.info("loaded the configuration for Alertmanager anew")

    def _read(self) -> Way:
        if self._files is None:
            return Way(None, _context(Tls(), encrypted=self._encrypted), None, TIMEOUT_SECONDS, {})
        source = self._files.read(configuration.load, _files)
        config = source.content
        context = _context(config.tls_config, encrypted=self._encrypted)
        _load_files(source, context)
        return Way(_authorization(source), context, config.tls_config.server_name, config.timeout, config.labels)


def _files(source: Source[HttpConfig]) -> tuple[Path, ...]:
    config, tls = source.content, source.content.tls_config
    named = [tls.ca_file, tls.cert_file, tls.key_file]
    named += [config.basic_auth.password_file] if config.basic_auth else []
    named += [config.authorization.credentials_file] if config.authorization else []
    return tuple(source.path.parent / each for each in named if each)


def _authorization(source: Source[HttpConfig]) -> str | None:
    config = source.content
    if config.basic_auth:
        password = _secret(source, "basic_auth", "password", config.basic_auth.password)
        login = f"{config.basic_auth.username}:{password}"
        return f"Basic {base64.b64encode(login.encode()).decode()}"
    if config.authorization:
        credentials = _secret(source, "authorization", "credentials", config.authorization.credentials)
        if not re.fullmatch("[!-~][ -~]*", credentials):
            key = "credentials" if config.authorization.credentials is not None else "credentials_file"
            raise source.error(("authorization", key), "must be one line of ASCII text")
        return f"{config.authorization.type} {credentials}"
    return None


def _secret(source: Source[HttpConfig], part: str, name: str, inline: str | None) -> str:
    """A secret, without the white space around it that a file has."""
    if inline is not None:
        return inline
    file: Path = getattr(getattr(source.content, part), f"{name}_file")
    try:
        return (source.path.parent / file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise source.error((part, f"{name}_file"), f"cannot read it: {reason}") from None


def _context(tls: Tls, *, encrypted: bool) -> ssl.SSLContext:
    if encrypted and tls.ca_file is None and not tls.insecure_skip_verify:
        made = ssl.create_default_context()
    else:  # reading the machine's authorities is most of what a context costs
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.insecure_skip_verify:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    # Python 3.13 insists on extensions that the certificates of one's own authority may lack.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made


def _load_files(source: Source[HttpConfig], into: ssl.SSLContext) -> None:
    tls, folder = source.content.tls_config, source.path.parent

    def wrong(name: str, message: str) -> FileError:
        return source.error(("tls_config", name), message)

    for name, file in (("ca_file", tls.ca_file), ("cert_file", tls.cert_file), ("key_file", tls.key_file)):
        try:
            if file:
                (folder / file).open("rb").close()
        except OSError as error:
            raise wrong(name, f"cannot read it: {error.strerror}") from None
    if tls.ca_file:
        try:
            into.load_verify_locations(folder / tls.ca_file)
        except ssl.SSLError:
            raise wrong("ca_file", "holds no PEM certificate") from None
    if tls.cert_file and tls.key_file:
        try:
            load_chain(into, folder / tls.cert_file, folder / tls.key_file)
        except Encrypted as error:
            raise wrong("key_file", str(error)) from None
        except ssl.SSLError:
            raise wrong("cert_file", "is no PEM certificate that goes with key_file") from None
