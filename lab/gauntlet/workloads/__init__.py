"""All workloads of the gauntlet."""

from lab.gauntlet.workload import GauntletWorkload
from lab.gauntlet.workloads import change_buffer, mixes, others, reported

SEED, MIXES = 14, 6
"""The random mixes of the full form."""


def workloads(seed: int = SEED, number: int = MIXES) -> tuple[GauntletWorkload, ...]:
    """The reported workloads, those of the change buffer, the others, and so many random mixes."""
    return (*reported.WORKLOADS, *change_buffer.WORKLOADS, *others.WORKLOADS, *mixes.mixes(seed, number))
