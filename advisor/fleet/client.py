"""Queries to the HTTP API of Prometheus, Thanos, Mimir or VictoriaMetrics."""

from __future__ import annotations

import asyncio
import codecs
import re
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

import httpcore

from advisor.fleet.decoding import Decoder, NoAnswer
from advisor.fleet.progress import Outcome
from advisor.fleet.series import Answer, Grid
from advisor.outgoing import connections
from advisor.outgoing.client_settings import ClientSettings, client_settings
from advisor.outgoing.connections import Connections

AT_ONCE = 2
"""Queries at the same time at most: the Prometheus has other readers."""
_FOR_EVERYONE = {"partial_response": "false", "dedup": "true", "max_source_resolution": "0s"}
"""Parameters of Thanos; the others ignore them. Downsampled data never enter an answer."""
_DOWNSAMPLED = {"max_source_resolution": "1h"}
_MOST_CHARACTERS = 256 * 2**20
"""Of one answer."""
_GZIP = 16 + zlib.MAX_WBITS
_PART = 2**18  # bytes that are decompressed at once
_LIMIT_STATUS = (413, 414, 422)
_LIMITS = re.compile(
    r"err-mimir-max|too many|too long|too large|too much|would load|exceed|max-|limit|timed? ?out", re.IGNORECASE
)
"""What texts of errors say where a smaller query may succeed."""
_NOT_LIMITS = (401, 403, 404, 429)
_PASSING = (408, 425, 429)


class PrometheusError(Exception):
    """A query has no answer; the text says why."""


class Unreachable(PrometheusError):
    """There is no connection, or what answers is no Prometheus."""


class Refused(PrometheusError):
    """An answer that is an error.

    Attributes:
        status: Of HTTP.
        kind: Prometheus' errorType; empty where there is none.
        text: The error.
    """

    def __init__(self, status: int, kind: str, text: str) -> None:
        super().__init__(f"HTTP {status}" + (f", {kind}" if kind else "") + (f": {text}" if text else ""))
        self.status, self.kind, self.text = status, kind, text

    @property
    def final(self) -> bool:
        """Whether the same query would be refused again."""
        return 300 <= self.status < 500 and self.status not in _PASSING


class LimitHit(PrometheusError):
    """The query is too large or takes too long: one about fewer servers may have an answer."""


class TooSlow(LimitHit):
    """It takes too long: nothing was answered until the limit for a query."""


_OUTCOMES = {LimitHit: Outcome.LIMIT, TooSlow: Outcome.LIMIT, Refused: Outcome.REFUSED}


class Prometheus:
    """A client. `async with` closes its connections.

    Attributes:
        url: Without /api/v1.
    """

    def __init__(
        self,
        url: str,
        settings: ClientSettings | None = None,
        headers: Mapping[str, str] | None = None,
        asked: Callable[[Outcome], None] = lambda _: None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            url: Without /api/v1.
            settings: Login, TLS, and the limit for a query; None for the defaults.
            headers: More headers, such as X-Scope-OrgID.
            asked: Told how each query ended.
        """
        self.url = url.rstrip("/")
        self._settings = settings or client_settings(None, encrypted=url.startswith("https:"))
        self._asked = asked
        self._more = dict(headers or {})
        self._connections = Connections(lambda: self._settings)
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connections.aclose()

    async def instant(self, query: str, at: float) -> Answer:
        """The series of a query at a time. An incomplete answer is asked for once more.

        Args:
            query: PromQL.
            at: Unix seconds.

        Raises:
            PrometheusError: There is no answer.
        """
        return await self._ask("/api/v1/query", {"query": query, "time": f"{at:.3f}"})

    async def now(self) -> float:
        """Prometheus' own time, Unix seconds: this machine's clock may be another one.

        Raises:
            PrometheusError: There is no answer.
        """
        found = await self._ask("/api/v1/query", {"query": "vector(time())"})
        if not found.series:
            raise Unreachable("it does not know the time")
        return found.series[0].value

    async def grid(self, query: str, grid: Grid) -> Answer:
        """The series of a query at each time of a grid, like `instant`.

        Raises:
            PrometheusError: There is no answer.
        """
        return await self._ask("/api/v1/query_range", {"query": query, **_times(grid)})

    async def downsampled(self, query: str, grid: Grid) -> Answer:
        """The same of downsampled data too, where Thanos has any: these tell that there was something, and no number.

        Raises:
            PrometheusError: There is no answer.
        """
        return await self._ask("/api/v1/query_range", {"query": query, **_times(grid)}, **_DOWNSAMPLED)

    async def _ask(self, path: str, asked: Mapping[str, str], **more: str) -> Answer:
        # Prometheus takes whole numbers with a unit only: 1500ms, not 1.5s.
        parameters = {**asked, "timeout": f"{self._settings.timeout * 1000:.0f}ms", **_FOR_EVERYONE, **more}
        found = await self._counted(path, parameters)
        if found.partial:
            again = await self._counted(path, parameters)
            found = again if not again.partial or len(again.series) >= len(found.series) else found
        return found

    async def _counted(self, path: str, parameters: Mapping[str, str]) -> Answer:
        try:
            async with self._turns:
                found = await self._post(path, urlencode(parameters, errors="replace").encode())
        except PrometheusError as error:
            self._asked(_OUTCOMES.get(type(error), Outcome.UNREACHABLE))
            raise
        self._asked(Outcome.INCOMPLETE if found.partial else Outcome.ANSWERED)
        return found

    async def _post(self, path: str, content: bytes) -> Answer:
        settings, pool = await self._connections.pool()
        head = connections.headers(settings, "application/x-www-form-urlencoded")
        head += [("Accept", "application/json"), ("Accept-Encoding", "gzip"), *self._more.items()]
        try:
            # httpcore's timeout limits each step, and an answer that drips has many steps.
            async with asyncio.timeout(settings.timeout):
                async with pool.stream(
                    "POST", self.url + path, headers=head, content=content, extensions=connections.extensions(settings)
                ) as answer:
                    return await _read(answer)
        except (TimeoutError, httpcore.ReadTimeout):
            raise TooSlow(f"no answer within {settings.timeout:g} s") from None
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise Unreachable(f"cannot connect: {connections.reason(error)}") from error
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise Unreachable(connections.reason(error)) from error


def _times(grid: Grid) -> dict[str, str]:
    return {"start": f"{grid.begin:.3f}", "end": f"{grid.end:.3f}", "step": f"{grid.step:.3f}"}


async def _read(answer: httpcore.Response) -> Answer:
    """The answer, decoded while it arrives.

    Raises:
        PrometheusError: It is an error, or something else.
    """
    if answer.status in connections.REDIRECTS:
        raise Refused(answer.status, "", "redirects are not followed")
    decoder = Decoder()
    failed = not 200 <= answer.status < 300
    said = ""
    length = 0
    try:
        async for text in _texts(answer):
            length += len(text)
            if length > _MOST_CHARACTERS:
                raise LimitHit(f"the answer is longer than {_MOST_CHARACTERS // 2**20} MiB")
            if failed and len(said) < 4096:
                said += text
            decoder.feed(text)
        found = decoder.answer()
    except (NoAnswer, zlib.error) as error:
        if failed:
            raise _error(answer.status, "", connections.shown(said)) from None
        raise Unreachable(str(error) if isinstance(error, NoAnswer) else "its answer cannot be decompressed") from None
    if failed or decoder.fields.get("status") != "success":
        raise _error(answer.status, *(str(decoder.fields.get(name) or "") for name in ("errorType", "error")))
    return found


async def _texts(answer: httpcore.Response) -> AsyncIterator[str]:
    """The text, in parts."""
    coding = {name.lower(): value.lower() for name, value in answer.headers}.get(b"content-encoding", b"identity")
    unpack = zlib.decompressobj(_GZIP) if coding in (b"gzip", b"x-gzip") else None
    text = codecs.getincrementaldecoder("utf-8")("replace")  # VictoriaMetrics takes labels that are no valid text
    async for part in answer.aiter_stream():
        waiting = part
        while waiting:
            if unpack:
                plain = unpack.decompress(waiting, _PART)
                waiting = unpack.unconsumed_tail
            else:
                plain, waiting = waiting, b""
            yield text.decode(plain)
    if unpack:
        yield text.decode(unpack.flush())
    if unpack and not unpack.eof:
        raise NoAnswer("its answer was cut off")


def _error(status: int, kind: str, text: str) -> PrometheusError:
    refused = Refused(status, kind, connections.shown(text))
    if kind == "timeout" or status == HTTPStatus.GATEWAY_TIMEOUT:
        return TooSlow(str(refused))
    if status in _LIMIT_STATUS or (status not in _NOT_LIMITS and _LIMITS.search(text)):
        return LimitHit(str(refused))
    return refused
