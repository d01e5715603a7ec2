"""Snapshots by hand, for units that need no server; and where the real captures are."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from advisor.advice import evaluation
from advisor.casetest.cases import recorded
from advisor.contract.recommendation import Advice
from advisor.observe.window import Window
from advisor.rules import check
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.pools import BufferPool
from exporter.server import Server, identify
from exporter.snapshot import Index, Snapshot, Table

REPOSITORY = Path(__file__).resolve().parents[2]
RULES_FOLDER = REPOSITORY / "rules"
RECORDING = "mysql-9.7/repeated-scan"
"""A capture in which one rule fires."""
BOOTED = 1_700_000_000.0
ORDERS = Table("shop", "orders")
ROWS = 91_200


def server(version: str = "9.7.4", comment: str = "", *, performance_schema: bool = True) -> Server:
    return identify(
        {"version": version, "version_comment": comment, "performance_schema": "ON" if performance_schema else "OFF"}
    )


def pool(**values: int) -> BufferPool:
    return BufferPool(**(dict.fromkeys(BufferPool.__slots__, 0) | values))


def variables(**values: str) -> dict[str, str]:
    return {
        "innodb_page_size": "16384",
        "innodb_buffer_pool_size": "268435456",
        "innodb_old_blocks_pct": "37",
        "innodb_old_blocks_time": "1000",
        "innodb_lru_scan_depth": "1024",
        "innodb_change_buffering": "all",
    } | values


def snapshot(seconds: float, *, of: Server | None = None, booted: float = BOOTED, **sections: Any) -> Snapshot:
    """One taken so many seconds after the server's start, with status and variables unless told otherwise."""
    at = booted + seconds
    known: dict[str, Any] = {"status": {"uptime": float(seconds)}, "variables": variables()} | sections
    outcomes = known.pop("outcomes", {})
    read_at = known.pop("read_at", {})
    return Snapshot(at, of or server(), "advisor@localhost", outcomes, read_at, known)


def scanned(seconds: float, passes: float, pages_read: int, **sections: Any) -> Snapshot:
    """A server whose full pool of 16,382 pages keeps no page of a table that is scanned again and again."""
    pages = 11_400
    known: dict[str, Any] = {
        "pools": (pool(size_pages=16_382, database_pages=16_300, old_pages=6_036, pages_read=pages_read),),
        "index_sizes": IndexSizes({Index("shop", "orders", "PRIMARY"): IndexSize(pages, pages - 50, ROWS)}, 0),
        "table_scans": {ORDERS: round(passes * ROWS)},
        "table_files": {ORDERS: FileReads(pages_read, pages_read * 16_384, 0.0)},
        "count_statements": {},
        "innodb_metrics": {},
    }
    return snapshot(seconds, **(known | sections))


def three_passes(pages: dict[str, int], every: float = 10.0, **more: int) -> Window:
    """Tables that are read whole at each of three passes over a full pool of 16,382 pages."""
    tables = {Table("shop", name): size for name, size in pages.items()}
    sizes = {Index(t.schema, t.table, "PRIMARY"): IndexSize(size, size, ROWS) for t, size in tables.items()}

    def at(n: int) -> Any:
        counts = {"pages_read": n * sum(pages.values())} | {name: n * count for name, count in more.items()}
        return scanned(
            every * n,
            0,
            0,
            pools=(pool(size_pages=16_382, database_pages=16_382, old_pages=6_047, **counts),),
            index_sizes=IndexSizes(sizes, 0),
            table_scans=dict.fromkeys(tables, n * ROWS),
            table_files={t: FileReads(n * size, n * size * 16_384, 0.0) for t, size in tables.items()},
        )

    return Window(tuple(at(n) for n in range(4)))


def capture(name: str) -> Path:
    """A recording of a real server, such as mysql-9.7/repeated-scan."""
    return REPOSITORY / "tests" / "captures" / name / "recording.jsonl.gz"


@functools.cache
def captured(name: str) -> Window:
    """Its window, replayed once a process: a window is not changed."""
    return Window.of(recorded(capture(name)), math.inf)


@functools.cache
def built_in_rules() -> tuple[check.Rule, ...]:
    """Loaded once a process."""
    return tuple(check.load(RULES_FOLDER))


def built_in_rule(name: str) -> check.Rule:
    """One of them, by its id."""
    return next(rule for rule in built_in_rules() if rule.id == name)


def advised(window: Window, *rules: check.Rule) -> Advice:
    """The advice of these rules, or of all that are built in."""
    return evaluation.advise(rules or built_in_rules(), window)


def plain_rule(**keys: Any) -> Mapping[str, Any]:
    """The keys of a rule that fires on everything, with others or more of them."""
    return {
        "id": "plain",
        "title": "A rule",
        "severity": "warning",
        "confidence": 0.5,
        "budget_seconds": 60.0,
        "applies": {"mysql": {"from": "5.6"}, "mariadb": {"from": "10.5"}},
        "needs": ["variables"],
        "when": ["1.0 > 0.0"],
        "summary": "a summary",
        "evidence": [{"name": "seconds", "value": "window.seconds", "source": "the clock"}],
        "change": [{"setting": "innodb_old_blocks_pct", "value": 80}],
        "effect": {"quantity": "pages", "predicted": 0},
        "why": "Because.",
        "references": ["a manual"],
    } | keys
