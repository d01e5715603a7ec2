"""How often a client may send costly requests, and how many questions may wait for the model."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

ALWAYS_ANSWERED = frozenset(("/metrics", "/healthz", "/readyz"))
"""Paths for a Prometheus and probes: no limit counts them, and no crowd takes their connection."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """Tokens that a sidecar grants. A question to the model takes two.

    Attributes:
        burst: Tokens of each client at once.
        per_second: And then a second. A page takes one a refresh, and one for each step of its sliders.
        clients: All clients together have this many times as much, so that one cannot keep the others out.
        models: Questions to the model in progress or waiting. It answers one at a time, in some seconds; the last one
            is answered within the minute that a connection has.
        addresses: The latest clients, whose tokens are counted; the limit of all clients holds in any case.
    """

    burst: float = 40
    per_second: float = 2
    clients: float = 2
    models: int = 8
    addresses: int = 1024


ALLOWANCE = Allowance()


class Bucket:
    """A token bucket: a burst at once, and then a rate."""

    __slots__ = ("_at", "_burst", "_clock", "_left", "_per_second")

    def __init__(self, burst: float, per_second: float, clock: Callable[[], float]) -> None:
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._left, self._at = burst, clock()

    def wait(self, tokens: int = 1) -> float:
        """Seconds until the bucket has these tokens; 0 if it has them."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        return 0.0 if self._left >= tokens else (tokens - self._left) / self._per_second

    def take(self, tokens: int = 1) -> None:
        """Take tokens that the bucket has."""
        self._left -= tokens


class Limits:
    """Limits of costly requests, for each address and for all."""

    def __init__(self, allowance: Allowance = ALLOWANCE, clock: Callable[[], float] = time.monotonic) -> None:
        self._together = Bucket(allowance.clients * allowance.burst, allowance.clients * allowance.per_second, clock)
        self._of = functools.lru_cache(allowance.addresses)(
            lambda _address: Bucket(allowance.burst, allowance.per_second, clock)
        )
        self._models, self._asked = allowance.models, 0

    def spend(self, address: str, tokens: int) -> None:
        """Take tokens for a request.

        Raises:
            HTTPException: 429; its address, or all addresses together, have too few.
        """
        buckets = self._of(address), self._together
        wait = max(bucket.wait(tokens) for bucket in buckets)
        if wait:
            raise too_often("this takes a while to work out, and was asked for very often", wait)
        for bucket in buckets:
            bucket.take(tokens)

    @contextlib.contextmanager
    def model(self) -> Iterator[None]:
        """A place among the questions to the model.

        Raises:
            HTTPException: 503; all places are taken.
        """
        if self._asked >= self._models:
            raise HTTPException(
                HTTPStatus.SERVICE_UNAVAILABLE, "too many questions to the model at once; try again", retry_after(1)
            )
        self._asked += 1
        try:
            yield
        finally:
            self._asked -= 1


def costly(tokens: int, *, only_with: str = "", model: bool = False) -> Any:
    """Limits an endpoint.

    Args:
        tokens: The cost of a request.
        only_with: Limits only requests with this parameter in the query; the others are answered from memory.
        model: Whether a request is a question to the model.
    """

    async def limited(request: Request) -> AsyncIterator[None]:
        if only_with and only_with not in request.query_params:
            yield
            return
        limits: Limits = request.app.state.limits
        limits.spend(request.client.host if request.client else "", tokens)
        with limits.model() if model else contextlib.nullcontext():
            yield

    return Depends(limited)


def too_often(what: str, seconds: float) -> HTTPException:
    """429, with the seconds until the next attempt."""
    return HTTPException(HTTPStatus.TOO_MANY_REQUESTS, f"{what}; try again later", retry_after(seconds))


def retry_after(seconds: float) -> dict[str, str]:
    """The header Retry-After, in whole seconds."""
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
