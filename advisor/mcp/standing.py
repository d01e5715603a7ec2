"""Who answers, and what runs while an agent may ask."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from advisor.fleet.watch import FleetWatch
from advisor.http.foundation import Application
from advisor.mcp.endpoint import LocalEndpoint, RemoteEndpoint
from advisor.mcp.readings import FleetReadings
from advisor.mcp.sources import AnswerSource, FleetAnswers, SidecarAnswers, answers_at


class StandingSource(Protocol):
    """Who answers, once it runs."""

    async def choose(self) -> AnswerSource:
        """Who answers. Raises NotAnswered while that is not known."""

    @asynccontextmanager
    def running(self) -> AsyncIterator[None]:
        """What runs meanwhile."""


class LocalSource:
    """An application of this process: it watches from the start on, and not from the first question."""

    def __init__(self, app: Application, answers: AnswerSource) -> None:
        """Nothing runs yet."""
        self._app, self._answers = app, answers

    async def choose(self) -> AnswerSource:
        """The application."""
        return self._answers

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The application."""
        async with self._app.router.lifespan_context(self._app):
            yield


class RemoteSource:
    """A service elsewhere: a sidecar or a fleet's; its first answer tells which."""

    def __init__(self, endpoint: RemoteEndpoint) -> None:
        """Ask nothing yet."""
        self._endpoint = endpoint
        self._answers: AnswerSource | None = None

    async def choose(self) -> AnswerSource:
        """Which of them it is."""
        self._answers = self._answers or await answers_at(self._endpoint)
        return self._answers

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Nothing."""
        yield


def sidecar(app: Application) -> LocalSource:
    """The application of `serve`."""
    return LocalSource(app, SidecarAnswers(LocalEndpoint(app)))


def fleet(app: Application, watch: FleetWatch, readings: FleetReadings) -> LocalSource:
    """The application of `fleet --listen`.

    Args:
        app: The application.
        watch: Reads the fleet.
        readings: Read about one server.
    """
    endpoint = LocalEndpoint(app)
    answers = FleetAnswers(
        endpoint, is_read=lambda: watch.report is not None or watch.problem is not None, readings=readings
    )
    return LocalSource(app, answers)
