"""The scenarios of the captures: each a workload that causes one phenomenon, and a check that it occurred."""

from lab.captures import Capture
from lab.captures.scenarios import change_buffer, counts, index_builds, io, quiet, scans
from lab.captures.scenarios.base import CaptureScenario, Step

__all__ = ["CATALOG", "SCENARIOS", "CaptureScenario", "Step"]

_ALL = (
    *quiet.SCENARIOS,
    *scans.SCENARIOS,
    *change_buffer.SCENARIOS,
    *counts.SCENARIOS,
    *index_builds.SCENARIOS,
    *io.SCENARIOS,
)
SCENARIOS = {scenario.name: scenario for scenario in _ALL}
CATALOG = tuple(Capture(server, scenario.name) for scenario in _ALL for server in scenario.options)
"""All captures."""
