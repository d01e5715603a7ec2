"""What is not known inside a section is not known to the facts that need it, and to no others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest

from advisor import facts
from advisor.advice.interpreter import evaluate
from advisor.advice.trace import Evaluation
from advisor.contract.recommendation import Blind, Failed, Recommendation
from advisor.observe.window import Window
from advisor.rules import check
from exporter.collectors.count_statements import CountStatement
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.machine import Machine
from exporter.collectors.parallel_readers import ParallelReaders
from exporter.collectors.pools import BufferPool
from exporter.collectors.table_io import IndexIo
from tests.advisor.building import RULES_FOLDER, captured

ALWAYS_KNOWN = {
    BufferPool: {"pool", "size_pages", "free_pages", "database_pages"},
    FileReads: {"reads"},
    CountStatement: set[str](),
    IndexSize: {"pages", "rows", "columns", "page_bytes"},
    IndexIo: {"fetched", "inserted", "updated", "deleted"},
    ParallelReaders: set[str](),
    Machine: set[str](),
}
"""Fields without which a series tells nothing of an entry, or which were not always known before."""
FIELDS = [
    (shape, field.name) for shape, always in ALWAYS_KNOWN.items() for field in fields(shape) if field.name not in always
]
CAPTURES = (
    "mysql-9.7/repeated-scan",
    "mysql-9.7/parallel-count",
    "mysql-9.7/change-buffer-merges",
    "mysql-9.7/change-buffer-off",
    "mysql-9.7/index-builds",
    "mysql-9.7/counted-without-index",
    "mysql-9.7/hot-set-exceeds-pool",
    "mariadb-11.8/shared-scan",
    "mariadb-10.11/write-pressure",
)


@cache
def rules() -> list[check.Rule]:
    """Those that ask no model, which takes seconds; tests/advisor/fleet/test_trial.py asks it."""
    return [rule for rule in check.load(RULES_FOLDER) if rule.file.choose is None]


def without(section: Any, shape: type, name: str) -> Any:
    """A section in which a field of each entry of a class is not known."""
    if isinstance(section, shape):
        return replace(section, **{name: None})  # type: ignore[type-var]
    if isinstance(section, IndexSizes):
        return replace(section, sizes=without(section.sizes, shape, name))
    if isinstance(section, Mapping):
        return {key: without(entry, shape, name) for key, entry in section.items()}
    return tuple(without(entry, shape, name) for entry in section) if isinstance(section, tuple) else section


def cut(window: Window, shape: type, name: str) -> Window:
    return Window(
        tuple(
            replace(snapshot, sections={of: without(section, shape, name) for of, section in snapshot.sections.items()})
            for snapshot in window.snapshots
        )
    )


@cache
def with_all_fields(capture: str) -> dict[tuple[str, str], Evaluation]:
    return by_subject(captured(capture))


def by_subject(window: Window) -> dict[tuple[str, str], Evaluation]:
    return {(evaluation.rule, str(evaluation.subject)): evaluation for evaluation in evaluate(rules(), window)}


@pytest.mark.parametrize(
    ("shape", "name"), FIELDS, ids=lambda value: value if isinstance(value, str) else value.__name__
)
def test_what_is_not_known_blinds_and_never_changes_a_verdict(shape: type, name: str) -> None:
    for capture in CAPTURES:
        whole, partial = with_all_fields(capture), by_subject(cut(captured(capture), shape, name))
        blind = {rule for (rule, _), evaluation in partial.items() if isinstance(evaluation.verdict, Blind)}
        for key, evaluation in partial.items():
            assert not isinstance(evaluation.verdict, Failed), (capture, evaluation.verdict)
            if key[0] not in blind:
                silent = key not in whole or whole[key].verdict is None
                assert (evaluation.verdict is None) is silent, (capture, key, evaluation)
        fired = {rule for (rule, _), evaluation in whole.items() if isinstance(evaluation.verdict, Recommendation)}
        undecided_or_fired = {rule for (rule, _), evaluation in partial.items() if evaluation.verdict is not None}
        assert fired <= blind | undecided_or_fired, capture


def test_unknown_counters_are_unknown_facts() -> None:
    window = captured("mysql-9.7/repeated-scan")
    pool = facts.facts(cut(window, BufferPool, "made_young")).pool
    assert pool.made_young is None
    assert pool.pages_read == facts.facts(window).pool.pages_read
    [scan] = facts.facts(cut(window, FileReads, "seconds")).lists["scans"]
    assert (scan.read_seconds, scan.bytes) == (None, facts.facts(window).lists["scans"][0].bytes)
    assert facts.facts(cut(window, BufferPool, "old_pages")).pool.old_pages is None
