"""The progress of long work: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class Reporter:
    """Progress over work of a known size, in estimated seconds."""

    def __init__(self, total: float, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task("", total=total)
        self._part = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def note(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, markup=False)
        sys.stdout.flush()

    def begin(self, part: str) -> None:
        """Show that a part begins."""
        self._part = part
        self._progress.update(self._task, description=part)

    def say(self, text: str) -> None:
        """Show the part's current step, on a terminal only."""
        self._progress.update(self._task, description=f"{self._part}: {text}")

    def end(self, part: str, how: str) -> None:
        """Print how a part ended."""
        self.note(f"{part}: {how}")

    def advance(self, seconds: float) -> None:
        """Count work as done."""
        self._progress.advance(self._task, seconds)
