"""What a test does when something it needs can't be had: it is skipped, or fails where REQUIRE_SERVERS=1."""

import os
from typing import NoReturn

import pytest

from lab import promtool
from lab.cache import Unavailable


def give_up(reason: str) -> NoReturn:
    if os.environ.get("REQUIRE_SERVERS", "0") not in ("", "0"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def promtool_says(text: str) -> str:
    """What promtool finds in a text of metrics; empty when all is well."""
    try:
        return promtool.check_metrics(text)
    except Unavailable as error:
        give_up(f"promtool can't be had here: {error}")
