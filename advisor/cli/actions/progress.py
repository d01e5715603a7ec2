"""A progress bar on a terminal."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@contextlib.contextmanager
def progress_bar(word: str, seconds: float) -> Iterator[Callable[[float], None]]:
    """A bar that begins with ``word``, on standard error where that is a terminal; takes the seconds that are over."""
    columns = (TextColumn(word), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with bar:
        task = bar.add_task(word, total=seconds)
        yield lambda elapsed: bar.update(task, completed=elapsed)
