"""Skip a test whose tools are not available, or fail it with REQUIRE_SERVERS=1."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import NoReturn, TypeVar

import pytest

from lab.packages.cache import UnavailableHere
from lab.programs import promtool

T = TypeVar("T")


def give_up(reason: str) -> NoReturn:
    if os.environ.get("REQUIRE_SERVERS", "0") not in ("", "0"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@contextmanager
def or_give_up(starting: AbstractContextManager[T]) -> Iterator[T]:
    """Enter a program's context manager if the program is available."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(starting)
        except UnavailableHere as error:
            give_up(f"it is unavailable here: {error}")
        yield started


def promtool_says(text: str) -> str:
    """promtool's complaints about a text of metrics; empty if there are none."""
    try:
        return promtool.check_metrics(text)
    except UnavailableHere as error:
        give_up(f"promtool is unavailable here: {error}")
