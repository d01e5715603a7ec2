"""Skip a test whose tools are not available, or fail it with REQUIRE_SERVERS=1."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import NoReturn, ParamSpec, TypeVar

import pytest

from lab.packages.cache import UnavailableHere
from lab.programs import promtool

P = ParamSpec("P")
T = TypeVar("T")


def give_up(reason: str) -> NoReturn:
    if os.environ.get("REQUIRE_SERVERS", "0") not in ("", "0"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def if_available(make: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """What a function of the lab or of tools returns, if its server or tool is available."""
    try:
        return make(*arguments, **options)
    except UnavailableHere as error:
        give_up(f"unavailable here: {error}")


@contextmanager
def or_give_up(starting: AbstractContextManager[T]) -> Iterator[T]:
    """Enter a program's context manager if the program is available."""
    with ExitStack() as stack:
        yield if_available(stack.enter_context, starting)


def promtool_says(text: str) -> str:
    """promtool's complaints about a text of metrics; empty if there are none."""
    return if_available(promtool.check_metrics, text)
