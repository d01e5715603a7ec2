"""The metrics of the stored history."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Metric

from exporter.exposition import Sample, Spec, assemble
from exporter.recording.history import Report

SPECS = {
    spec.name: spec
    for spec in (
        Spec("innodb_exporter_state_bytes", "gauge", "Size of the history in --state-dir.", (), "bytes"),
        Spec(
            "innodb_exporter_state_written_timestamp_seconds",
            "gauge",
            "When the history was last written to --state-dir.",
            (),
            "seconds",
        ),
        Spec("innodb_exporter_state_failures_total", "counter", "Failed attempts to write the history."),
        Spec(
            "innodb_exporter_state_damaged_files_total",
            "counter",
            "Damaged files of the history that were set aside.",
        ),
    )
}


def families(report: Report) -> Iterator[Metric]:
    """The metric families of a report."""
    yield from assemble(SPECS, _samples(report))


def _samples(report: Report) -> Iterator[Sample]:
    yield "innodb_exporter_state_bytes", (), report.bytes
    if report.written_at is not None:
        yield "innodb_exporter_state_written_timestamp_seconds", (), report.written_at
    yield "innodb_exporter_state_failures_total", (), report.failures
    yield "innodb_exporter_state_damaged_files_total", (), report.damaged
