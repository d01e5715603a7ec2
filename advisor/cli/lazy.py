"""Import at the time of use: --help imports neither a server's driver nor HTTP."""

from __future__ import annotations

import functools
import importlib
from collections import UserDict
from collections.abc import Callable
from typing import Any

import click


class LazyCommands(UserDict[str, Any]):
    """The commands of a click group, by name, as ``module.attribute``; looking a command up imports its module."""

    def __getitem__(self, name: str) -> click.Command:
        """The command of this name. Raises KeyError."""
        command = load(super().__getitem__(name))
        assert isinstance(command, click.Command)  # noqa: S101 - the paths are constants of this code
        return command


def runs(path: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A command whose work is the function at ``path``: it gets the options as keywords, and is imported to run.

    The decorated function only carries the command's name and help.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(**options: Any) -> Any:
            return load(path)(**options)

        return run

    return decorate


def load(path: str) -> Any:
    """What ``module.attribute`` names."""
    module, _, attribute = path.rpartition(".")
    return getattr(importlib.import_module(module), attribute)
