"""Queries to the HTTP API of Prometheus, Thanos, Mimir or VictoriaMetrics."""

from __future__ import annotations

import asyncio
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlencode

import httpcore

from advisor.fleet.series import Grid, QueryAnswer, QuerySeries
from advisor.outgoing import connections
from advisor.outgoing.connections import Connections
from advisor.outgoing.settings import ClientSettings, client_settings

QueryOutcome = Literal["answered", "incomplete", "limit", "refused", "unreachable"]
"""How a query ended. Incomplete: with warnings, or with a part of the data."""
ErrorKind = Literal["incomplete", "limit", "slow", "refused", "unreachable"]
"""Why there is no answer. Unreachable: there is no connection, or the answer is not Prometheus'."""

_FOR_EVERYONE = {"partial_response": "false", "dedup": "true", "max_source_resolution": "0s"}
"""Parameters of Thanos; the others ignore them. Downsampled data never enter an answer."""
_DOWNSAMPLED = {"max_source_resolution": "1h"}
_MOST_BYTES = 64 << 20
"""Of one answer, decompressed. The largest ones, nine points of 20,000 series of tables, have 8 MiB."""
_ERROR_CHARACTERS = 4096
_CUT_OFF = "its answer was cut off"
_GZIP = 16 + zlib.MAX_WBITS
_LIMIT_STATUS = (413, 414, 422)
_LIMITS = re.compile(
    r"err-mimir-max|too many|too long|too large|too much|would load|exceed|max-|limit|timed? ?out", re.IGNORECASE
)
"""Words of errors after which a smaller query may succeed."""
_NOT_LIMITS = (401, 403, 404, 429)
_PASSING = (408, 425, 429)
"""Statuses below 500 after which the same query may succeed a moment later."""


class QueryError(Exception):
    """A query has no answer; the text says why.

    Attributes:
        kind: Why. Of fewer servers a query that hit a ``limit``, or was too ``slow``, may have an answer.
        status: Of HTTP; None where there is no answer of HTTP.
    """

    def __init__(self, text: str, kind: ErrorKind = "unreachable", status: int | None = None) -> None:
        super().__init__(text)
        self.kind, self.status = kind, status

    @property
    def passing(self) -> bool:
        """Whether the same query may have an answer a moment later."""
        refused_for_good = self.status is not None and 300 <= self.status < 500 and self.status not in _PASSING
        return self.kind == "unreachable" or (self.kind == "refused" and not refused_for_good)


class PrometheusClient:
    """A client. `async with` closes its connections.

    Attributes:
        url: Without /api/v1.
    """

    def __init__(
        self,
        url: str,
        settings: ClientSettings | None = None,
        headers: Mapping[str, str] | None = None,
        queries: Counter[QueryOutcome] | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            url: Without /api/v1.
            settings: Login, TLS, and the limit for a query; None for the defaults.
            headers: More headers, such as X-Scope-OrgID.
            queries: Counts how queries end.
        """
        self.url = url.rstrip("/")
        self._settings = settings or client_settings(None, encrypted=url.startswith("https:"))
        self._queries = Counter[QueryOutcome]() if queries is None else queries
        self._more = dict(headers or {})
        self._connections = Connections(lambda: self._settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connections.aclose()

    async def instant(self, query: str, at: float) -> QueryAnswer:
        """The series of a query at a time. An incomplete answer is asked for once more.

        Args:
            query: PromQL.
            at: Unix seconds.

        Raises:
            QueryError: There is no answer.
        """
        return await self._ask("/api/v1/query", {"query": query, "time": f"{at:.3f}"})

    async def now(self) -> float:
        """Prometheus' own time, Unix seconds: this machine's clock may be another one.

        Raises:
            QueryError: There is no answer.
        """
        answer = await self._ask("/api/v1/query", {"query": "vector(time())"})
        if not answer.series:
            raise QueryError("it does not know the time")
        return answer.series[0].value

    async def grid(self, query: str, grid: Grid, *, downsampled: bool = False) -> QueryAnswer:
        """The series of a query at each time of a grid, like `instant`.

        Args:
            query: PromQL.
            grid: The times.
            downsampled: Also of downsampled data, where Thanos has any: they show that there was a sample, and no
                number.

        Raises:
            QueryError: There is no answer.
        """
        more = _DOWNSAMPLED if downsampled else {}
        return await self._ask("/api/v1/query_range", {"query": query, **_times(grid)}, **more)

    async def _ask(self, path: str, query: Mapping[str, str], **more: str) -> QueryAnswer:
        # Prometheus takes whole numbers with a unit only: 1500ms, not 1.5s.
        parameters = {**query, "timeout": f"{self._settings.timeout * 1000:.0f}ms", **_FOR_EVERYONE, **more}
        answer = await self._counted(path, parameters)
        if answer.partial:
            again = await self._counted(path, parameters)
            answer = again if not again.partial or len(again.series) >= len(answer.series) else answer
        return answer

    async def _counted(self, path: str, parameters: Mapping[str, str]) -> QueryAnswer:
        try:
            answer = await self._post(path, urlencode(parameters, errors="replace").encode())
        except QueryError as error:
            self._queries["limit" if error.kind == "slow" else error.kind] += 1
            raise
        self._queries["incomplete" if answer.partial else "answered"] += 1
        return answer

    async def _post(self, path: str, content: bytes) -> QueryAnswer:
        form, timeout = ("Content-Type", "application/x-www-form-urlencoded"), self._settings.timeout
        headers = (form, ("Accept", "application/json"), ("Accept-Encoding", "gzip"), *self._more.items())
        try:
            # A timeout limits each step, and an answer that drips has many steps.
            async with (
                asyncio.timeout(timeout),
                self._connections.request("POST", self.url + path, headers, content) as answer,
            ):
                return await _read(answer)
        except (TimeoutError, httpcore.ReadTimeout):
            raise QueryError(f"no answer within {timeout:g} s", "slow") from None
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise QueryError(f"cannot connect: {connections.reason(error)}") from error
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise QueryError(connections.reason(error)) from error


def _times(grid: Grid) -> dict[str, str]:
    return {"start": f"{grid.begin:.3f}", "end": f"{grid.end:.3f}", "step": f"{grid.step:.3f}"}


async def _read(response: httpcore.Response) -> QueryAnswer:
    """The answer to a query.

    Raises:
        QueryError: It is an error, or nothing that Prometheus' API answers.
    """
    if response.status in connections.REDIRECTS:
        raise _error(response.status, "", "redirects are not followed")
    text = await _text(response)
    failed = not 200 <= response.status < 300
    try:
        # Each series is converted as it is parsed: of an answer of 8 MiB there are never more dictionaries than one.
        fields = json.loads(text, object_hook=_series_hook())
        if not failed and fields["status"] == "success":
            return _answer(fields)
        kind, message = (str(fields.get(name) or "") for name in ("errorType", "error"))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if failed:
            raise _error(response.status, "", connections.shown(text[:_ERROR_CHARACTERS])) from None
        cut = isinstance(error, json.JSONDecodeError) and text.startswith("{")
        raise QueryError(_CUT_OFF if cut else "it does not answer as Prometheus' API does") from None
    raise _error(response.status, kind, message)


async def _text(response: httpcore.Response) -> str:
    """The decompressed text of an answer.

    Raises:
        QueryError: It is too long, cannot be decompressed, or ends too early.
    """
    coding = {name.lower(): value.lower() for name, value in response.headers}.get(b"content-encoding", b"identity")
    unpack = zlib.decompressobj(_GZIP) if coding in (b"gzip", b"x-gzip") else None
    content = bytearray()
    try:
        async for part in response.aiter_stream():
            content += unpack.decompress(part, _MOST_BYTES + 1 - len(content)) if unpack else part
            if len(content) > _MOST_BYTES:
                raise QueryError(f"the answer is longer than {_MOST_BYTES >> 20} MiB", "limit")
    except zlib.error:
        raise QueryError("its answer cannot be decompressed") from None
    if unpack and not unpack.eof:
        raise QueryError(_CUT_OFF)
    return content.decode(errors="replace")  # VictoriaMetrics takes labels that are no valid text


def _series_hook() -> Callable[[dict[str, Any]], object]:
    """Makes a QuerySeries of each object of an answer that is one, while the answer is parsed."""
    shared = dict[str, str]().setdefault  # one copy of each text: labels repeat in thousands of series

    def convert(fields: dict[str, Any]) -> object:
        metric = fields.get("metric")
        if not isinstance(metric, dict):  # the labels themselves are an object, too
            return fields
        labels = {shared(name, _plain(name)): shared(value, _plain(value)) for name, value in metric.items()}
        values = fields["values"] if "values" in fields else [fields["value"]]
        points = [(at + 0.0, value) for at, printed in values if math.isfinite(value := float(printed))]
        return QuerySeries(labels, tuple(points))

    return convert


def _plain(text: str) -> str:
    """A text as UTF-8 can have it: JSON can hold half a pair of surrogates, which becomes its escape."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _answer(fields: Mapping[str, Any]) -> QueryAnswer:
    """A successful answer. Raises LookupError or TypeError where it is something else."""
    result = fields["data"]["result"]
    if not all(isinstance(series, QuerySeries) for series in result):
        raise TypeError("not a list of series")
    warnings = tuple(_plain(str(text)) for name in ("warnings", "infos") for text in fields.get(name) or ())
    partial = bool(fields.get("isPartial")) or bool(fields.get("warnings"))
    return QueryAnswer(tuple(series for series in result if series.points), warnings, partial)


def _error(status: int, kind: str, text: str) -> QueryError:
    """The error of an answer: its status, Prometheus' errorType and its text, of which the last two may be empty."""
    shown = connections.shown(text)
    message = f"HTTP {status}" + (f", {kind}" if kind else "") + (f": {shown}" if shown else "")
    if kind == "timeout" or status == HTTPStatus.GATEWAY_TIMEOUT:
        return QueryError(message, "slow", status)
    limited = status in _LIMIT_STATUS or (status not in _NOT_LIMITS and _LIMITS.search(text))
    return QueryError(message, "limit" if limited else "refused", status)
