"""Plans that are carried out on real servers: memory, in a real memory cgroup."""

from __future__ import annotations

from lab.harness.campaign import Study, judged
from lab.plans import memory
from lab.plans.record import MemoryRecord


def study() -> Study:
    """Memory by the size of the pool, and pools that are resized under a limit."""
    return judged(memory.parts(), MemoryRecord.model_validate)
