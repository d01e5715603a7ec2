"""The samples of a Snapshot as they are exposed."""

from collections.abc import Iterator
from typing import Any

from exporter.collectors.base import Collector
from exporter.exposition import Sample
from exporter.sampling.metrics import SPECS, families
from exporter.snapshot import Snapshot

Labels = tuple[str, ...]
Samples = dict[str, dict[Labels, float]]


def exposed(snapshot: Snapshot | None) -> Samples:
    """Values by the metric's name, and by label values in the order of the metric's labels."""
    by_name: Samples = {}
    for family in families(snapshot):
        for sample in family.samples:
            labels = tuple(sample.labels[label] for label in SPECS[sample.name].labels)
            values = by_name.setdefault(sample.name, {})
            assert labels not in values, (sample.name, labels)
            values[labels] = sample.value
    return by_name


def samples(collector: Collector[Any], snapshot: Snapshot) -> Iterator[Sample]:
    """What a collector exposes."""
    for family in collector.families(snapshot):
        for sample in family.samples:
            yield sample.name, tuple(sample.labels.values()), sample.value
