"""The cost of a model, measured in its own process on one core.

`python -m lab.bench.model_process REQUEST` is that process; `model_cost` starts it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import BaseModel

from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pass, Scenario
from lab.bench.sweep import HOT_SET, SweepSettings, scenario
from lab.packages.cache import REPOSITORY
from lab.processes.usage import memory_mib

Model = Literal["served", "page-exact"]


class Request(BaseModel):
    """Simulate the workload of the sweep, ``scale`` times smaller, with each configuration."""

    model: Model
    configurations: tuple[SweepSettings, ...]
    scale: int


class ModelCost(BaseModel):
    """The cost of a request.

    Attributes:
        cpu_seconds, wall_seconds: For all configurations, including the creation of their scenarios.
        mib: Growth of the peak resident memory, from after the model's import.
        pages_read: By configuration, in all passes.
        looked_up: The part of these that point accesses read.
    """

    cpu_seconds: float
    wall_seconds: float
    mib: float
    pages_read: tuple[float, ...]
    looked_up: tuple[float, ...]


def model_cost(model: Model, configurations: Sequence[SweepSettings], scale: int = 1) -> ModelCost:
    """The cost of a model, from its own process."""
    request = Request(model=model, configurations=tuple(configurations), scale=scale)
    command = [sys.executable, "-m", "lab.bench.model_process", request.model_dump_json()]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True)
    return ModelCost.model_validate_json(done.stdout)


def _work(request: Request) -> ModelCost:
    passes = _model(request.model)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    mib, cpu, wall = _peak_mib(), time.process_time(), time.perf_counter()
    read = [_read(passes(scenario(configuration, request.scale))) for configuration in request.configurations]
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    pages_read, looked_up = zip(*read, strict=True)
    return ModelCost(
        cpu_seconds=cpu,
        wall_seconds=wall,
        mib=_peak_mib() - mib,
        pages_read=pages_read,
        looked_up=looked_up,
    )


def _read(passes: Sequence[Pass]) -> tuple[float, float]:
    """Pages read in all passes, and the part of them that point accesses read."""
    return sum(each.pages_read for each in passes), sum(each.pages_read for each in passes if each.object == HOT_SET)


def _model(name: Model) -> Callable[[Scenario], Sequence[Pass]]:
    if name == "served":
        return lambda asked: simulation.simulate(asked).passes
    from tests.advisor.models.lru import reference  # noqa: PLC0415 - not part of the served model's memory

    return reference.simulate


def _peak_mib() -> float:
    """Peak resident memory of this process; getrusage's ru_maxrss starts at the parent's."""
    mib = memory_mib(os.getpid(), "VmHWM")
    assert mib is not None  # noqa: S101 - Linux has it
    return mib


if __name__ == "__main__":
    print(_work(Request.model_validate_json(sys.argv[1])).model_dump_json())
