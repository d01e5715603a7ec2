"""Values of options, parsed from text. Click shows the text of a ValueError to the user, and the name as a metavar."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from advisor.observe.limits import LONGEST_GAP
from exporter import files

if TYPE_CHECKING:  # --help needs no pydantic
    from exporter.server import Managed

_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_LEAST_MULTIPLE, _MOST_MULTIPLE, _MOST_MULTIPLES = 0.01, 100.0, 20
"""Multiples of a size, and how many of them: each takes the model a while."""
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*:[ \t]*([ -~]*[!-~])")
_MATCHER = r'[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*(?:"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
_MATCHERS = re.compile(rf"{_MATCHER}(?:\s*,\s*{_MATCHER})*")


def duration(text: str) -> float:
    """``90``, ``60s``, ``5m``, ``1h``: seconds, more than 0."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", text.strip())
    seconds = float(match[1]) * _SECONDS[match[2] or ""] if match else 0.0
    if seconds <= 0:
        raise ValueError(f"{text!r} is not a duration such as 60s, 5m or 1h")
    return seconds


def bounded_duration(least: float, most: float, refusal: str) -> Callable[[str], float]:
    """A parser of durations.

    Args:
        least: Seconds.
        most: Seconds.
        refusal: Says what is wrong with a duration out of these bounds; it follows the user's text.
    """

    def bounded(text: str) -> float:
        seconds = duration(text)
        if not least <= seconds <= most:
            raise ValueError(f"{text!r} {refusal}")
        return seconds

    bounded.__name__ = duration.__name__
    return bounded


interval = bounded_duration(
    0.0,
    LONGEST_GAP / 2,
    f"is longer than {LONGEST_GAP / 2:g}s: rules would take the time between two collections for a gap",
)
"""Time between two collections."""


def since(text: str) -> datetime:
    """``90m``, ``12h``, ``7d``: so long ago; ``2026-11-23T08:00``: then, in UTC."""
    written = text.strip()
    try:
        if match := re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhd])", written):
            return datetime.now(UTC) - timedelta(seconds=float(match[1]) * _SECONDS[match[2]])
        at = datetime.fromisoformat(written)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time such as 90m, 7d, 2026-11-23 or 2026-11-23T08:00") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def multiples(text: str) -> tuple[float, ...]:
    """``0.5,1,2``: multiples of today's size, ascending; 1 is always among them."""
    matches = [re.fullmatch(r"[0-9]{1,4}(?:\.[0-9]{1,4})?", part.strip()) for part in text.split(",")]
    numbers = {float(match[0]) for match in matches if match}
    if None in matches or not all(_LEAST_MULTIPLE <= number <= _MOST_MULTIPLE for number in numbers):
        bounds = f"numbers from {_LEAST_MULTIPLE:g} to {_MOST_MULTIPLE:g} such as 0.5,1,2"
        raise ValueError(f"{text!r} is not a list of {bounds}")
    if len(numbers) > _MOST_MULTIPLES:
        raise ValueError(f"{len(numbers)} sizes are too many: {_MOST_MULTIPLES} at most")
    return tuple(sorted(numbers | {1.0}))


def rate(text: str) -> float:
    """``50/s``, ``50``, ``3000/m``, ``0``: so many a second."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)(?:/([smh]))?", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a rate such as 50/s")
    return float(match[1]) / _SECONDS[match[2] or "s"]


def address(text: str) -> tuple[str, int]:
    """``host:port``; ``[::1]:9747`` for IPv6, ``:9747`` for every address."""
    match = re.fullmatch(r"(?:\[([^\]]*)\]|([^:\[\]]*)):(\d{1,5})", text.strip())
    if not match or int(match[3]) > 65535:
        raise ValueError(f"{text!r} is not an address such as 127.0.0.1:9747")
    return match[1] or match[2] or "", int(match[3])


def setting(text: str) -> tuple[str, str]:
    """``innodb_old_blocks_pct=80``: name and value."""
    name, equals, value = text.partition("=")
    if not (name.strip() and equals and value.strip()):
        raise ValueError(f"{text!r} is not a setting and its value, such as innodb_old_blocks_pct=80")
    return name.strip().lower(), value.strip()


def url_like(
    example: str, *, instead: str = "leave it out", base: bool = False, added: str | None = None
) -> Callable[[str], str]:
    """A parser of HTTP and HTTPS addresses. Its errors never show a password.

    Args:
        example: An address that is accepted.
        instead: What to do with a user's name and password.
        base: Whether other addresses are made of it: then it has no query, and loses a slash at its end.
        added: A pattern of a path that the program adds itself.
    """

    def url(text: str) -> str:
        written = text.strip()
        parts = _split(written)
        if "@" in (parts.netloc if parts else written.partition("?")[0]):
            # The text after this is not shown: it may be the password.
            raise ValueError(f"names a user, and every user of this machine could read the password: {instead}")
        if parts is None or not re.fullmatch("[!-~]+", written):
            raise ValueError(f"{written!r} is not a URL such as {example}")
        if base and re.search("[?#]", written):
            raise ValueError(f"{written!r} has more than a path behind the host")
        written = written.rstrip("/") if base else written
        if added and (path := re.search(added, written)):
            raise ValueError(f"{written!r}: leave out {path[0]}, which is added")
        return written

    return url


def _split(written: str) -> SplitResult | None:
    try:
        parts = urlsplit(written)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        return None
    return parts if usable else None


def host_name(text: str) -> str:
    """A name of DNS, in lower case: without a scheme, and without a port."""
    written = text.strip().lower().removesuffix(".")
    if not re.fullmatch(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*", written):
        raise ValueError(f"{text!r} is not a name such as advisor.example.com, without scheme and port")
    return written


def selector(text: str) -> str:
    """``cluster="eu",team!="a"``: matchers of PromQL; braces around them are left out."""
    written = text.strip()
    if written.startswith("{") and written.endswith("}"):
        written = written[1:-1].strip()
    written = written.removesuffix(",").strip()
    if written and not _MATCHERS.fullmatch(written):
        raise ValueError(f'{text!r} is no list of matchers such as cluster="eu",team=~"a|b"')
    return written


def service(text: str) -> tuple[str, Managed]:
    """``cluster="aws"=rds``: matchers, and the cloud service that runs the servers that match."""
    from typing import get_args

    from exporter.server import Managed

    services: tuple[Managed, ...] = get_args(Managed)
    written, _, word = text.rpartition("=")
    managed = next((name for name in services if name == word.strip()), None)
    if managed is None or not written.strip():
        raise ValueError(f'{text!r} is not a selector and one of {", ".join(services)}, such as cluster="aws"=rds')
    matchers = selector(written)
    if not matchers:
        raise ValueError(f"{text!r} names no servers")
    return matchers, managed


def labels(text: str) -> tuple[str, ...]:
    """``cluster,namespace,pod``: names of labels."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name):
            raise ValueError(f"{name!r} is no name of a label")
    return names


def shard(text: str) -> tuple[int, int]:
    """``0/8`` to ``7/8``: one of eight parts."""
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text.strip())
    if not match or int(match[1]) >= int(match[2]):
        raise ValueError(f"{text!r} is not a shard such as 0/8: they count from 0/8 to 7/8")
    return int(match[1]), int(match[2])


def header(text: str) -> tuple[tuple[str, str], ...]:
    """``X-Scope-OrgID: team-a``, or ``@FILE`` with such lines: headers of requests. Its errors show no value."""
    lines, source = text, "it"
    if text.startswith("@"):
        source = text[1:]
        try:
            lines = files.text(Path(source))
        except OSError as error:
            raise ValueError(f"cannot read {source}: {error.strerror}") from None
    matches = [_HEADER.fullmatch(line.strip()) for line in lines.splitlines() if line.strip()]
    if not matches or None in matches:
        raise ValueError(f"{source} has to be a header in a line, such as X-Scope-OrgID: team-a")
    return tuple((match[1], match[2]) for match in matches if match)
