"""The records of the built-in rules' proofs on real servers, which come with this installation."""

from __future__ import annotations

import re

from advisor.files.installed import installed


def record(rule_id: str) -> str | None:
    """The section of a rule, in markdown, without its heading; None where no server here can provoke it."""
    try:
        page = installed("builtin_rules/proofs.md", "docs/proofs.md").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(rf"^## {re.escape(rule_id)}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    return None if found is None else re.sub(r" \(\[its page\]\([^)]*\)\)", "", found[1]).strip()
