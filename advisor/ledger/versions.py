"""Who predicted: the versions of the rules and of the model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from advisor.ledger.ledger import Versions
from advisor.rules.check import Rule
from exporter import __version__


def versions(rules: Sequence[Rule]) -> Versions:
    """The version of innodb-advisor, and a digest of what each rule's file says."""
    return Versions(__version__, {rule.id: _digest(rule) for rule in rules})


def _digest(rule: Rule) -> str:
    return hashlib.sha256(rule.file.model_dump_json(by_alias=True).encode()).hexdigest()[:16]
