"""The scenarios of the captures: each a workload that causes one phenomenon, and a check that it occurred."""

from lab.captures.scenarios import change_buffer, changes, counts, index_builds, io, quiet, scans, transactions
from lab.captures.scenarios.base import CATALOG

__all__ = ["CATALOG", "change_buffer", "changes", "counts", "index_builds", "io", "quiet", "scans", "transactions"]
