"""The facts of a capture, and the numbers in its note."""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML

from advisor import facts
from advisor.facts import Facts
from tests.advisor.building import capture, captured


def facts_of(name: str) -> Facts:
    """The facts of a capture."""
    return facts.facts(captured(name))


def shown(name: str) -> dict[str, Any]:
    """The numbers in a capture's note, which lab.captures computes from the raw rows."""
    return dict(YAML().load(capture(name).with_name("note.yaml"))["shows"])
