"""A run over parts. Each result is kept at once, so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lab.harness.records import NotNow, NotShown, Part, PartResult
from lab.packages import cache
from lab.packages.cache import REPOSITORY, UnavailableHere
from lab.servers import StartError, interrupt_on_signals, start

FAILED, UNAVAILABLE, INTERRUPTED = 1, 2, 130
"""Exit statuses of a command that runs a campaign; 0 where all bounds hold."""
ATTEMPTS = 2
"""A part that fails with `NotShown` is tried once more, and its record says so: other work can disturb a server."""
CODE = ("advisor", "exporter", "lab", "rules", "tools")
"""The code that a kept result depends on. When it changes, the parts are run again."""


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


@contextmanager
def interruptible(reporter: Reporter) -> Iterator[None]:
    """For a command line: Ctrl-C and the usual signals end the process, with a note; its servers stop."""
    interrupt_on_signals()
    try:
        yield
    except KeyboardInterrupt:
        reporter.note("\ninterrupted; no server is left behind. The same command continues with the rest.")
        sys.exit(INTERRUPTED)


class Campaign:
    """A run over parts.

    Args:
        parts: In run order.
        reporter: Shows the progress.
        folder: For results until all parts are done.
        attempts: How often a part that fails is tried.
    """

    def __init__(
        self, parts: Sequence[Part], reporter: Reporter, folder: Path | None = None, *, attempts: int = ATTEMPTS
    ) -> None:
        self.parts = list(parts)
        self._reporter = reporter
        self._folder = folder or unfinished()
        self._attempts = attempts
        self.done: list[PartResult] = []
        self.failed: dict[str, str] = {}
        self.unavailable: dict[str, str] = {}
        self.not_now: dict[str, str] = {}

    def run(self) -> list[PartResult]:
        """Run the parts without a kept result.

        Returns:
            All results, in order. The other parts are in ``failed``, ``unavailable`` and ``not_now``.

        Raises:
            KeyboardInterrupt: The run was interrupted; the next run continues from the kept results.
        """
        before = {str(part): kept for part in self.parts if (kept := self._kept(part)) is not None}
        if before:
            self._reporter.note(f"{len(before)} of {len(self.parts)} parts were done by an interrupted run")
        with self._reporter:
            for part in self.parts:
                result = before.get(str(part)) or self._do(part)
                self.done += [] if result is None else [result]
                self._reporter.advance(part.takes)
        return self.done

    @property
    def complete(self) -> bool:
        """Whether all parts are done."""
        return len(self.done) == len(self.parts)

    def exit(self, broken: Sequence[str]) -> NoReturn:
        """Name the parts without a result and the broken bounds, and end the process with the exit status."""
        for name, why in self.not_now.items():
            self._reporter.note(f"not now {name}: {why}")
        failed = [f"{name}: {why}" for name, why in self.failed.items()] + list(broken)
        for text in (*(f"{name}: {why}" for name, why in self.unavailable.items()), *failed):
            self._reporter.note(f"FAILED {text}")
        self._reporter.note(f"{len(self.done)} of {len(self.parts)} parts done, {len(failed)} failed")
        sys.exit(FAILED if failed else UNAVAILABLE if self.unavailable else 0)

    def forget(self) -> None:
        """Remove the kept results."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _do(self, part: Part) -> PartResult | None:
        began = time.monotonic()
        for attempt in range(1, self._attempts + 1):
            self._reporter.begin(str(part))
            try:
                origin = part.origin() if part.origin else None
                with start(part.server, part.options, origin=origin) as server:
                    version = server.version
                    data = part.run(server, self._reporter.say)
            except UnavailableHere as error:
                self.unavailable[str(part)] = str(error)
                self._reporter.end(str(part), f"not done: the server is unavailable here: {error}")
                return None
            except NotNow as error:
                self.not_now[str(part)] = str(error)
                self._reporter.end(str(part), f"not now: {error}")
                return None
            except (NotShown, StartError) as error:
                self.failed[str(part)] = str(error)
                self._reporter.end(str(part), f"FAILED (attempt {attempt} of {self._attempts}): {error}")
                continue
            self.failed.pop(str(part), None)
            result = PartResult(part, part.server, version, time.monotonic() - began, attempt, data)
            self._keep(result)
            self._reporter.end(str(part), f"{result.seconds:.0f} s")
            return result
        return None

    def _path(self, part: Part) -> Path:
        return (
            self._folder / part.group / f"{hashlib.sha256((part.name + part.version).encode()).hexdigest()[:16]}.json"
        )

    def _keep(self, done: PartResult) -> None:
        path = self._path(done.part)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(done.record()), encoding="utf-8")
        unfinished.rename(path)

    def _kept(self, part: Part) -> PartResult | None:
        path = self._path(part)
        if not path.is_file():
            return None
        return PartResult(part=part, **json.loads(path.read_text(encoding="utf-8")))


def unfinished(name: str = "lab") -> Path:
    """The folder of this code's kept results in runs of this name; removes those of other code."""
    folder = cache.folder() / name / _digest()
    for other in folder.parent.glob("*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def _digest() -> str:
    """A digest of the code and the rules: results of other code must not be reused."""
    root = REPOSITORY
    digest = hashlib.sha256()
    for path in _sources(root):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _sources(root: Path) -> Iterable[Path]:
    for folder in CODE:
        yield from sorted(
            path
            for path in (root / folder).rglob("*")
            if path.suffix in {".py", ".yaml", ".toml"} and "records" not in path.parts
        )
