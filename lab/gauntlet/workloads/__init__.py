"""All workloads of the gauntlet."""

from lab.gauntlet.workload import Workload
from lab.gauntlet.workloads import mixes, others, reported

SEED, MIXES = 14, 6
"""The random mixes of the full form."""


def workloads(seed: int = SEED, number: int = MIXES) -> tuple[Workload, ...]:
    """The reported workloads, the others, and so many random mixes."""
    return (*reported.WORKLOADS, *others.WORKLOADS, *mixes.mixes(seed, number))
