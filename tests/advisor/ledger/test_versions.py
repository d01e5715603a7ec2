"""The versions that a prediction is told apart by."""

from __future__ import annotations

from collections.abc import Callable

from advisor.ledger.ledger import rule_versions
from advisor.rules import check


def test_a_rule_whose_file_says_something_else_has_another_version(make_rule: Callable[..., check.Rule]) -> None:
    one, same, other = (rule_versions([make_rule(**keys)]) for keys in ({}, {}, {"confidence": 0.7}))
    assert one == same
    assert one.keys() == other.keys() == {"plain"}
    assert one != other
