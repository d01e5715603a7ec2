"""The recording to practise on is a capture with its outcomes."""

from __future__ import annotations

from tools import practice


def test_it_is_what_the_tool_makes() -> None:
    assert practice.read(practice.PRACTICE) == practice.content(), "python -m tools.docs writes it anew"
