"""Samples as Prometheus families."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    UnknownMetricFamily,
)

from exporter.metrics import Sample, Spec


def assemble(specs: Mapping[str, Spec], samples: Iterable[Sample]) -> Iterator[Metric]:
    """Families in the order of ``specs``, from samples in any order; a family without samples is left out.

    Of samples with the same name and labels only the first is kept. Prometheus rejects a whole scrape that holds one
    series twice, and two names that differ on the server may be equal here (bytes that are not UTF-8).
    """
    by_name: dict[str, dict[tuple[str, ...], float]] = {}
    for name, labels, value in samples:
        by_name.setdefault(name, {}).setdefault(labels, value)
    for name, spec in specs.items():
        if name in by_name:
            family = _family(spec)
            for labels, value in by_name[name].items():
                family.add_metric(labels, value)
            yield family


class _Info(InfoMetricFamily):
    """An info family that takes its labels like the other families; its value is always 1."""

    def __init__(self, name: str, documentation: str, labels: tuple[str, ...]) -> None:
        super().__init__(name, documentation)
        self._names = labels

    def add_metric(self, labels: tuple[str, ...], value: float) -> None:  # type: ignore[override]  # noqa: ARG002
        super().add_metric((), dict(zip(self._names, labels, strict=True)))


def _family(spec: Spec) -> CounterMetricFamily | GaugeMetricFamily | UnknownMetricFamily | _Info:
    match spec.kind:
        case "counter":
            return CounterMetricFamily(spec.name, spec.help, labels=spec.labels, unit=spec.unit)
        case "gauge":
            return GaugeMetricFamily(spec.name, spec.help, labels=spec.labels, unit=spec.unit)
        case "info":
            return _Info(spec.name.removesuffix("_info"), spec.help, spec.labels)
        case "unknown":
            return UnknownMetricFamily(spec.name, spec.help, labels=spec.labels, unit=spec.unit)
