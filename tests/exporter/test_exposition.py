"""The text of an exposition is prometheus_client's, byte for byte."""

import math
from collections.abc import Callable, Sequence

import pytest
from prometheus_client import Histogram, Metric, generate_latest
from prometheus_client.openmetrics import exposition as library

from exporter import exposition
from exporter.exposition import Sample, Spec, assemble

SPECS = {
    spec.name: spec
    for spec in (
        Spec("innodb_a_total", "counter", 'A "quoted" help \\ of\ntwo lines.', ("schema", "name")),
        Spec("innodb_b_bytes", "gauge", "A gauge.", (), "bytes"),
        Spec("innodb_c_info", "info", "Words.", ("z", "a")),
        Spec("innodb_d", "unknown", "Neither."),
    )
}


class Ready:
    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Sequence[Metric]:
        return self._families


def families() -> list[Metric]:
    names = ("shop", 'quote " backslash \\ line\nend', "żółw 🐢", "")
    samples: list[Sample] = [
        *(
            ("innodb_a_total", (name, name), value)
            for name, value in zip(names, (1.0, 2.5, 1e21, 2.0**63), strict=True)
        ),
        ("innodb_b_bytes", (), math.inf),
        ("innodb_c_info", ("1", "2"), 1.0),
        ("innodb_d", (), -math.inf),
        ("innodb_d", (), 7.0),  # the same series twice
    ]
    histogram = Histogram("innodb_e", "Sizes.", ("rule",), registry=None, buckets=(0.5, 1.0))
    histogram.labels("one").observe(0.7)
    [sizes] = histogram.collect()
    sizes.samples = [sample for sample in sizes.samples if not sample.name.endswith("_created")]
    return [*assemble(SPECS, samples), sizes]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(exposition.classic, generate_latest), (exposition.openmetrics, library.generate_latest)],
    ids=["classic", "openmetrics"],
)
def test_the_text_is_that_of_the_library(
    ours: Callable[[Sequence[Metric]], bytes], theirs: Callable[[Ready], bytes]
) -> None:
    assert ours(families()) == theirs(Ready(families()))
    assert ours([]) == theirs(Ready([]))
