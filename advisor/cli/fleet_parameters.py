"""Parameter types of `fleet`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import click

from advisor.cli.link_options import BaseUrl
from advisor.cli.parameters import Duration
from exporter import files

if TYPE_CHECKING:  # --help needs no pydantic
    from exporter.server import Managed

_API = re.compile("/api/v1(/.*)?$")
_SHORTEST, _LONGEST = 600.0, 86_400.0
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*:[ \t]*([ -~]*[!-~])")
_LABEL = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
_MATCHER = r'[a-zA-Z_][a-zA-Z0-9_]*\s*(?:=~|!~|!=|=)\s*(?:"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
_MATCHERS = re.compile(rf"{_MATCHER}(?:\s*,\s*{_MATCHER})*")


class PrometheusUrl(BaseUrl):
    """The address of a Prometheus, without /api/v1."""

    def __init__(self) -> None:
        super().__init__("http://prometheus:9090", "--prometheus-config has a place for it")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Parse; click reports a failure, which never shows a password."""
        written = super().convert(value, param, ctx)
        if found := _API.search(written):
            self.fail(f"{written!r}: leave out {found[0]}, which is added", param, ctx)
        return written


class Selector(click.ParamType[str]):
    """``cluster="eu",team!="a"``: matchers of PromQL; braces around them are left out."""

    name = "selector"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check; click reports a failure."""
        written = str(value).strip()
        if written.startswith("{") and written.endswith("}"):
            written = written[1:-1].strip()
        written = written.removesuffix(",").strip()
        if written and not _MATCHERS.fullmatch(written):
            self.fail(f'{value!r} is no list of matchers such as cluster="eu",team=~"a|b"', param, ctx)
        return written


class Service(click.ParamType["tuple[str, Managed]"]):
    """``cluster="aws"=rds``: matchers, and the cloud service that runs what they match."""

    name = "service"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Managed]:
        """Split; click reports a failure."""
        if isinstance(value, tuple):
            return cast("tuple[str, Managed]", value)
        from exporter.server import Managed  # noqa: PLC0415 - as above

        known: tuple[Managed, ...] = get_args(Managed)
        selector, _, word = str(value).rpartition("=")
        service = next((each for each in known if each == word.strip()), None)
        if service is None or not selector.strip():
            services = ", ".join(known)
            self.fail(f'{value!r} is not a selector and one of {services}, such as cluster="aws"=rds', param, ctx)
        matchers = Selector().convert(selector, param, ctx)
        if not matchers:
            self.fail(f"{value!r} names no servers", param, ctx)
        return matchers, service


class Labels(click.ParamType[tuple[str, ...]]):
    """``cluster,namespace,pod``: names of labels."""

    name = "labels"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Split; click reports a failure."""
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",")))
        for name in names:
            if not _LABEL.fullmatch(name):
                self.fail(f"{name!r} is no name of a label", param, ctx)
        return names


class Shard(click.ParamType[tuple[int, int]]):
    """``0/8`` to ``7/8``: one of eight parts."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Split; click reports a failure."""
        if isinstance(value, tuple):
            return value
        found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", str(value).strip())
        if not found or int(found[1]) >= int(found[2]):
            self.fail(f"{value!r} is not a shard such as 0/8: they count from 0/8 to 7/8", param, ctx)
        return int(found[1]), int(found[2])


class Window(Duration):
    """Time that is looked at, ten minutes to a day."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse; click reports a failure."""
        seconds = super().convert(value, param, ctx)
        if not _SHORTEST <= seconds <= _LONGEST:
            self.fail(f"{value!r} is not between 10m and 24h", param, ctx)
        return seconds


class Header(click.ParamType[tuple[tuple[str, str], ...]]):
    """``X-Scope-OrgID: team-a``, or ``@FILE`` with such lines: headers of requests."""

    name = "header"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[str, str], ...]:
        """Split; click reports a failure, which shows no value."""
        if isinstance(value, tuple):
            return value
        written, where = str(value), "it"
        if written.startswith("@"):
            where = written[1:]
            try:
                written = files.text(Path(where))
            except OSError as error:
                self.fail(f"cannot read {where}: {error.strerror}", param, ctx)
        found = [_HEADER.fullmatch(line.strip()) for line in written.splitlines() if line.strip()]
        if not found or None in found:
            self.fail(f"{where} has to be a header in a line, such as X-Scope-OrgID: team-a", param, ctx)
        return tuple((each[1], each[2]) for each in found if each)
