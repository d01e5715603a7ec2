"""Blocks of Prometheus' storage, written from a plan: what many targets' scrapes would have left there."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Iterator, Sequence
from typing import Literal

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from pydantic import BaseModel

from lab.packages import cache, go

MODULE = cache.REPOSITORY / "lab" / "programs" / "blocks"
WRITE_SECONDS = 1800.0
UPTIMES = ("_status_uptime", "_uptime_seconds")
"""Ends of the names of metrics that grow by one each second."""


class Series(BaseModel):
    """A series of a template.

    Attributes:
        labels: With `__name__`, without the target's.
        value: Its first value; whole numbers stay whole.
        grows: A counter grows with the target's activity, an uptime with the clock, a gauge not at all.
        rate: A counter's growth in a second of activity; how far a gauge moves.
    """

    labels: dict[str, str]
    value: float
    grows: Literal["activity", "clock", ""] = ""
    rate: float = 0.0


class Target(BaseModel):
    """A scraped address.

    Attributes:
        labels: What a scrape adds, such as `instance` and `job`.
        template: The name of its template.
        busy: Seconds of activity in a second.
        age: Seconds that its uptime adds to the template's.
        offset: Milliseconds from the step's begin to its scrapes.
    """

    labels: dict[str, str]
    template: str
    busy: float = 1.0
    age: float = 0.0
    offset: int = 0


class Plan(BaseModel):
    """What a block holds. Times are Unix milliseconds."""

    folder: str
    start: int
    end: int
    step: int
    templates: dict[str, list[Series]]
    targets: Sequence[Target]


class Written(BaseModel):
    """What a block holds: numbers of series and samples."""

    series: int
    samples: int


def write(plan: Plan) -> Written:
    """Write one block into a folder that a Prometheus takes as its data.

    Raises:
        Unavailable: The writer cannot be built here.
        ValueError: The plan contradicts itself, or the disk is full; the writer's complaint.
    """
    program = go.built("block-writer", MODULE) / "block-writer"
    done = subprocess.run(
        [program], input=plan.model_dump_json(), capture_output=True, text=True, timeout=WRITE_SECONDS, check=False
    )
    if done.returncode:
        raise ValueError(done.stderr.strip())
    return Written.model_validate_json(done.stdout)


def template(first: str, second: str, seconds: float) -> list[Series]:
    """A template from two scrapes of one target under load, in the classic text format, so many seconds apart.

    mysqld_exporter calls most counters `untyped`: what grew between the scrapes is taken for one.
    """
    later = {_key(sample): sample.value for _, sample in _samples(second)}
    return [_series(kind, sample, later.get(_key(sample), sample.value), seconds) for kind, sample in _samples(first)]


def _samples(text: str) -> Iterator[tuple[str, Sample]]:
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if math.isfinite(sample.value):  # JSON has no NaN; a summary without observations has
                yield family.type, sample


def _key(sample: Sample) -> tuple[str, frozenset[tuple[str, str]]]:
    return sample.name, frozenset(sample.labels.items())


def _series(kind: str, sample: Sample, later: float, seconds: float) -> Series:
    labels, grown = {"__name__": sample.name, **sample.labels}, later - sample.value
    if sample.name.endswith(UPTIMES):
        return Series(labels=labels, value=sample.value, grows="clock")
    if kind != "gauge" and "quantile" not in labels and grown >= 0:
        return Series(labels=labels, value=sample.value, grows="activity", rate=grown / seconds)
    return Series(labels=labels, value=sample.value, rate=grown)
