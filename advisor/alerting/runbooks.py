"""The runbooks of the alerts, which come with this installation: sections of docs/alerting.md."""

from __future__ import annotations

import re
from collections.abc import Mapping

from advisor.files.installed import installed

_ALERTS = "## The alerts"
_SECTION = re.compile(r"^### (\w+)\n(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
_WITHIN_THE_DOCS = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")


def runbooks() -> Mapping[str, str]:
    """By alert: its runbook in markdown, with its name as heading. Links to other pages of the docs are plain text.

    Raises:
        OSError: The installation lacks the page.
    """
    page = installed("alerting/alerting.md", "docs/alerting.md").read_text(encoding="utf-8")
    _, _, sections = page.partition(f"\n{_ALERTS}\n")
    return {
        alert: _WITHIN_THE_DOCS.sub(r"\1", f"# {alert}\n\n{text.strip()}\n")
        for alert, text in _SECTION.findall(sections.partition("\n## ")[0])
    }
