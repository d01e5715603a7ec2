"""Golden files: the whole /metrics text of each capture's last snapshot."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from exporter.recording.file import replay
from exporter.sampling.metrics import families
from exporter.snapshot import Snapshot
from lab.captures import GOLDEN, Capture, kept


class _Held(Collector):
    """A prometheus_client collector of one fixed snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def collect(self) -> Iterable[Metric]:
        return families(self._snapshot)


def registry(snapshot: Snapshot) -> CollectorRegistry:
    """A registry with a snapshot's metric families only, without those of this process."""
    held = CollectorRegistry()
    held.register(_Held(snapshot))
    return held


def classic(snapshot: Snapshot) -> str:
    """In Prometheus' classic text format."""
    return generate_latest(registry(snapshot)).decode()


def openmetrics(snapshot: Snapshot) -> str:
    """In the OpenMetrics text format."""
    text: bytes = generate_openmetrics(registry(snapshot))  # type: ignore[no-untyped-call]
    return text.decode()


def of(capture: Capture) -> str:
    """The text of a capture's golden file.

    Raises:
        exporter.recording.file.RecordingError: The capture cannot be read.
    """
    *_, last = replay(capture.recording)
    return classic(last)


def write(capture: Capture) -> None:
    """Write a capture's golden file."""
    capture.golden.parent.mkdir(parents=True, exist_ok=True)
    capture.golden.write_text(of(capture))


def stale() -> list[Path]:
    """Golden files without a capture."""
    return sorted(set(GOLDEN.glob("*/*.prom")) - {capture.golden for capture in kept()})
