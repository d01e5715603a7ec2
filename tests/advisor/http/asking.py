"""An application asked in this process, behind its guard, with limits by a clock that stands still."""

from __future__ import annotations

from typing import Any

import httpx
from fastapi import FastAPI

from advisor.advice.service import Service
from advisor.http import app as application
from advisor.http.guard import Guard
from advisor.http.limits import Limits
from advisor.observe.source import Replay
from exporter.snapshot import Snapshot
from tests.advisor.http.standing import still


class Away(Replay):
    """A server that was seen, and cannot be reached now."""

    @property
    def latest(self) -> Snapshot | None:
        return None


def limited(service: Service) -> FastAPI:
    """The application of a service. No token comes back."""
    app = application.create(service)
    app.state.limits = Limits(clock=still)
    return app


def asking(app: Any, address: str = "192.0.2.1") -> httpx.AsyncClient:
    """A client with this address, of an application or of one behind its guard."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(address, 1)), base_url="http://sidecar")


def asking_service(service: Service) -> httpx.AsyncClient:
    """A client of a service's application behind its guard."""
    return asking(Guard(limited(service)))
