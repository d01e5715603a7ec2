"""Sources with the same cure are one blind spot."""

from __future__ import annotations

import pytest

from advisor import facts
from advisor.observe.window import Window
from exporter.snapshot import ReadOutcome
from tests.advisor.building import snapshot


@pytest.mark.parametrize(
    ("cure", "statement", "undo"),
    [
        ("GRANT PROCESS ON *.* TO 'a to b'@'%'", True, "REVOKE PROCESS ON *.* FROM 'a to b'@'%'"),
        (
            "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'statements_digest'",
            True,
            "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'statements_digest'",
        ),
        ("add performance_schema = ON to the server's option file and restart it", False, ""),
        ("GRANT ALL ON *.* TO 'evil'@'%'", False, ""),  # a recording may be of others
        ("GRANT PROCESS ON *.* TO 'a'@'%'; DROP TABLE t; -- ''", False, ""),
        ("GRANT PROCESS ON *.* TO 'a\\'@'%'", False, ""),
        ("UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = '' OR '1' = '1'", False, ""),
    ],
)
def test_sources_with_the_same_cure_are_one_blind_spot_and_a_statement_can_be_taken_back(
    cure: str, *, statement: bool, undo: str
) -> None:
    shut = {name: ReadOutcome(0.0, 0.0, "privilege", "denied", cure) for name in ("table_files", "pools")}
    absent = {"parallel_readers": ReadOutcome(0.0, 0.0, "absent", "there are none")}
    known = {"pools": ["b", "a"], "table_files": ["a"], "parallel_readers": ["c"]}
    [spot] = facts.facts(Window((snapshot(10, outcomes=shut | absent),)), known).lists["blind_spots"]
    assert (spot.sources, spot.count) == ("pools, table_files", 2.0)
    assert (spot.rules, spot.rule_count) == ("a, b", 2.0)
    assert (spot.statement, spot.undo, spot.subject) == (statement, undo, {"cure": cure})
