"""Blocks of Prometheus' storage as the scrapes of many targets leave them."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from pydantic import BaseModel

from lab.packages import cache, go

MODULE = cache.REPOSITORY / "lab" / "programs" / "blocks"
WRITE_SECONDS = 1800.0
UPTIMES = ("_status_uptime", "_uptime_seconds")
"""Ends of the names of metrics that grow by one each second."""


class BlockSeries(BaseModel):
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


class BlockTarget(BaseModel):
    """A scraped address.

    Attributes:
        labels: Those that a scrape adds, such as `instance` and `job`.
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


def write(
    folder: Path,
    span: tuple[int, int],
    step: int,
    templates: Mapping[str, Sequence[BlockSeries]],
    targets: Sequence[BlockTarget],
) -> tuple[int, int]:
    """Write one block into a folder that a Prometheus takes as its data.

    Args:
        folder: The folder.
        span: Begin and end, Unix milliseconds.
        step: Milliseconds between two scrapes of a target.
        templates: The series of a target, by name.
        targets: The scraped addresses.

    Returns:
        The numbers of series and samples.

    Raises:
        ValueError: The plan contradicts itself, or the disk is full; the writer's complaint.
    """
    program = go.built("block-writer", MODULE) / "block-writer"
    used = {target.template for target in targets}
    plan = {
        "folder": str(folder),
        "start": span[0],
        "end": span[1],
        "step": step,
        "templates": {name: [row.model_dump() for row in rows] for name, rows in templates.items() if name in used},
        "targets": [target.model_dump() for target in targets],
    }
    command = subprocess.run(
        [program], input=json.dumps(plan), capture_output=True, text=True, timeout=WRITE_SECONDS, check=False
    )
    if command.returncode:
        raise ValueError(command.stderr.strip())
    written = json.loads(command.stdout)
    return int(written["series"]), int(written["samples"])


def template(first: str, second: str, seconds: float) -> list[BlockSeries]:
    """A template from two scrapes of one target under load, in the classic text format, ``seconds`` apart.

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


def _series(kind: str, sample: Sample, later: float, seconds: float) -> BlockSeries:
    labels, grown = {"__name__": sample.name, **sample.labels}, later - sample.value
    if sample.name.endswith(UPTIMES):
        return BlockSeries(labels=labels, value=sample.value, grows="clock")
    if kind != "gauge" and "quantile" not in labels and grown >= 0:
        return BlockSeries(labels=labels, value=sample.value, grows="activity", rate=grown / seconds)
    return BlockSeries(labels=labels, value=sample.value, rate=grown)
