"""Where the server is and who logs in: from a DSN, a defaults file, a password file or the environment."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

PASSWORD_VARIABLE = "INNODB_ADVISOR_PASSWORD"  # noqa: S105 - the variable's name, not a password
_SPACE = " \t\r\n\v\f"
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " ", '"': '"', "'": "'", "\\": "\\"}
_ESCAPE = re.compile(r"""\\([ntrbs"'\\])""")
_SSL_OPTIONS = ("ssl-ca", "ssl-cert", "ssl-key", "ssl-mode")
_VERIFIED = ("VERIFY_CA", "VERIFY_IDENTITY")
_SSL_MODES = ("DISABLED", "PREFERRED", "REQUIRED", *_VERIFIED)


class TargetError(ValueError):
    """The description of the server cannot be used; the text says why and never holds a password."""


@dataclass(frozen=True, slots=True)
class Target:
    """A server to watch. ``password`` is kept out of repr()."""

    host: str = "127.0.0.1"
    port: int = 3306
    socket: str | None = None
    user: str = "root"
    password: str = field(default="", repr=False)
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    ssl_mode: str | None = None

    @property
    def mode(self) -> str:
        """``ssl-mode``, and without one what the files imply: with a CA it is verified, as the mysql client does."""
        return self.ssl_mode or ("VERIFY_CA" if self.ssl_ca else "REQUIRED" if self.ssl_cert else "PREFERRED")

    @property
    def address(self) -> str:
        """The server for messages: a socket's path, or host:port."""
        if self.socket:
            return self.socket
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def tls(self) -> ssl.SSLContext | None:
        """The TLS settings for the connection; None for one that is plain whatever the server offers.

        The modes mean what they mean to the mysql client. PREFERRED, the default, takes TLS where the server offers
        it, and over a Unix socket, which nobody else can read, stays plain.

        Raises:
            TargetError: A certificate file cannot be read.
        """
        if self.mode == "DISABLED" or (self.mode == "PREFERRED" and self.socket):
            return None
        try:
            if self.mode in _VERIFIED:
                context = ssl.create_default_context(cafile=self.ssl_ca)
                # Python 3.13 insists on extensions that the certificates which servers make for themselves lack.
                context.verify_flags &= ~ssl.VERIFY_X509_STRICT
                context.check_hostname = self.mode == "VERIFY_IDENTITY"
            else:  # without the machine's authorities, whose reading is most of what a context costs
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.ssl_cert:
                context.load_cert_chain(self.ssl_cert, self.ssl_key, password=_no_passphrase)
        except OSError as error:
            raise TargetError(f"cannot use the TLS files: {error}") from error
        return context


@dataclass(frozen=True, slots=True)
class Peer:
    """The two ends of a connection, as they tell which process is the server.

    Attributes:
        own: Address and TCP port of this end; None over a Unix socket.
        port: The TCP port at the other end.
        pid: The process at the other end of a Unix socket; None where it cannot be seen from here, and over TCP.
    """

    own: tuple[str, int] | None = None
    port: int | None = None
    pid: int | None = None


def from_dsn(dsn: str, base: Target | None = None) -> Target:
    """A target from ``mysql://user@host:port`` or ``mysql://user@/?socket=/path``.

    ``ssl-ca``, ``ssl-cert``, ``ssl-key`` and ``ssl-mode`` may follow as query parameters. Parts that the DSN
    does not name come from ``base``.

    Raises:
        TargetError: The DSN is malformed, names something unknown, or holds a password.
    """
    base = base or Target()
    hint = "expected mysql://user@host:port or mysql://user@/?socket=/path"
    try:
        parts = urlsplit(dsn)
        port = parts.port
        host = parts.hostname
    except ValueError:
        raise TargetError(f"malformed DSN; {hint}") from None
    if parts.scheme not in ("mysql", "mariadb"):
        raise TargetError(f"a DSN starts with mysql://; {hint}")
    if parts.password is not None:
        raise TargetError(
            "the DSN holds a password, which every user of this machine could read in the process list; "
            f"put it into --password-file, ${PASSWORD_VARIABLE} or --defaults-file"
        )
    if parts.fragment:
        raise TargetError(f"malformed DSN; {hint}")
    if parts.path not in ("", "/"):
        raise TargetError(f"the DSN names a database, which is not needed; {hint}")
    # Not a form: a plus sign in a path means itself.
    options = dict(parse_qsl(parts.query.replace("+", "%2B"), keep_blank_values=True))
    socket = options.pop("socket", None)
    target = replace(
        base,
        host=host or base.host,
        port=port or base.port,
        socket=socket or (None if host else base.socket),
        user=unquote(parts.username) if parts.username else base.user,
    )
    return _with_ssl(target, options, "the DSN")


def from_defaults_file(path: Path) -> Target:
    """A target from the ``[client]`` section of an option file, the one that mysqld_exporter reads.

    Raises:
        TargetError: The file cannot be read, is no option file, or has no ``[client]`` section.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise TargetError(f"cannot read the defaults file {path}: {reason}") from None
    options = _client_options(text, path)
    if options is None:
        raise TargetError(f"{path} has no [client] section")
    base = Target()
    try:
        port = int(options.pop("port", base.port))
    except ValueError:
        raise TargetError(f"{path}: port is not a number") from None
    if not 0 < port < 65536:
        raise TargetError(f"{path}: there is no port {port}")
    target = Target(
        host=options.pop("host", base.host),
        port=port,
        socket=options.pop("socket", None) or None,
        user=options.pop("user", base.user),
        password=options.pop("password", ""),
    )
    # Other programs read the same file: their options are none of ours.
    return _with_ssl(target, {n: v for n, v in options.items() if n in _SSL_OPTIONS}, str(path))


def resolve(
    dsn: str | None, defaults_file: Path | None, password_file: Path | None, environment: Mapping[str, str]
) -> Target:
    """The target that the options describe together.

    The DSN overrides the defaults file; the password is the password file's, else the environment's, else
    the defaults file's.

    Raises:
        TargetError: Any of them cannot be used.
    """
    target = from_defaults_file(defaults_file) if defaults_file else Target()
    if dsn is not None:
        target = from_dsn(dsn, target)
    if password_file is not None:
        try:
            password = password_file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise TargetError(f"cannot read the password file {password_file}: {reason}") from None
        target = replace(target, password=password.rstrip("\r\n"))
    elif PASSWORD_VARIABLE in environment:
        target = replace(target, password=environment[PASSWORD_VARIABLE].rstrip("\r\n"))
    return target


def _no_passphrase() -> str:
    # OpenSSL would ask for one at the terminal and wait.
    raise OSError("the key is encrypted, which is not supported")


def _with_ssl(target: Target, options: Mapping[str, str], where: str) -> Target:
    unknown = sorted(set(options) - set(_SSL_OPTIONS))
    if unknown:
        # What is no name may be a part of a password with a question mark in it.
        name = unknown[0] if re.fullmatch(r"[\w-]+", unknown[0]) else "?"
        raise TargetError(f"{where} has an unknown option: {name}")
    mode = options.get("ssl-mode", target.ssl_mode)
    if mode is not None and mode.upper() not in _SSL_MODES:
        raise TargetError(f"{where}: ssl-mode must be one of {', '.join(_SSL_MODES)}")
    return replace(
        target,
        ssl_ca=options.get("ssl-ca", target.ssl_ca),
        ssl_cert=options.get("ssl-cert", target.ssl_cert),
        ssl_key=options.get("ssl-key", target.ssl_key),
        ssl_mode=mode.upper() if mode else None,
    )


def _client_options(text: str, path: Path) -> dict[str, str] | None:
    """The options of ``[client]``, read as the server and its clients read them (mysys/my_default.cc)."""
    options: dict[str, str] | None = None
    section = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(_SPACE)
        if not line or line[0] in "#;!":  # !include and !includedir are not followed
            continue
        name, equals, value = _without_comment(line).partition("=")
        if line[0] == "[" and "]" in line:
            section = line[1 : line.index("]")].rstrip(_SPACE)
            if section == "client" and options is None:
                options = {}
        elif line[0] == "[" or section is None:
            # The line itself may be the password's.
            raise TargetError(f"{path}:{number}: not an option file ([section] and name = value)")
        elif section == "client" and options is not None:
            options[name.rstrip(_SPACE).lower().replace("_", "-")] = _value(value.strip(_SPACE)) if equals else ""
    return options


def _without_comment(line: str) -> str:
    """The line up to a ``#`` that is outside quotes."""
    quote, escaped = "", False
    for place, character in enumerate(line):
        if character in "\"'" and not escaped:
            quote = "" if quote == character else quote or character
        if character == "#" and not quote:
            return line[:place]
        escaped = bool(quote) and character == "\\" and not escaped
    return line


def _value(value: str) -> str:
    """A value without the quotes around it, its escapes undone."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return _ESCAPE.sub(lambda match: _ESCAPED[match[1]], value)
