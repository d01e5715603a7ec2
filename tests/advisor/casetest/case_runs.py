"""Cases of one rule, run without a file."""

from __future__ import annotations

from advisor.casetest import execution
from advisor.casetest.cases import Case
from advisor.rules import check
from advisor.rules.check import Rule
from tests.advisor.building import RULES_FOLDER, capture

SCAN = capture("mysql-9.7/repeated-scan")
IDLE = capture("mysql-9.7/idle")
OLD_SUBLIST = check.load_file(RULES_FOLDER / "scan-exceeds-old-sublist.yaml")
FOUND = {"subject": {"schema": "shop", "table": "orders"}, "changes": {"innodb_old_blocks_pct": 64}}


def differences(of: Rule, **keys: object) -> list[str]:
    """The differences of a case with these keys."""
    case = Case.model_validate({"name": "a case", "recording": SCAN, **keys})
    unmet, _, _ = execution.run(of, case)
    return list(map(str, unmet))
