"""The scenarios of the captures: each a workload that causes one phenomenon, and a check that it occurred."""

from lab.captures import Capture
from lab.captures.scenarios import change_buffer, changes, counts, index_builds, io, quiet, scans
from lab.captures.scenarios.base import CaptureScenario, Step

__all__ = ["CATALOG", "ELSEWHERE", "SCENARIOS", "CaptureScenario", "Step"]

_ALL = (
    *quiet.SCENARIOS,
    *scans.SCENARIOS,
    *change_buffer.SCENARIOS,
    *counts.SCENARIOS,
    *index_builds.SCENARIOS,
    *io.SCENARIOS,
    *changes.SCENARIOS,
)
SCENARIOS = {scenario.name: scenario for scenario in _ALL}
CATALOG = tuple(Capture(server, scenario.name) for scenario in _ALL for server in scenario.options)
"""All captures that can be recorded here."""
_OF_5_7 = ("idle", "repeated-scan", "change-buffer-off", "change-buffer-merges")
ELSEWHERE = tuple(Capture("mysql-5.7", scenario) for scenario in _OF_5_7)
"""Captures from a server that no registry has, recorded elsewhere under a like workload; their notes say how."""
