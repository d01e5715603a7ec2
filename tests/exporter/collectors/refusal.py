"""Servers that a collector does not ask."""

from __future__ import annotations

from typing import Any

from exporter.collectors.base import Collector, SourceUnavailable
from exporter.server import identify
from exporter.snapshot import Failure


def refusal(collector: Collector[Any], **variables: str) -> Failure | None:
    """Why the server with these variables is not asked; None if it is."""
    try:
        collector.queries(identify(variables))
    except SourceUnavailable as error:
        return error.failure
    return None
