"""A run over studies. Each part's entry is kept at once, so that an interrupted run can be resumed."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lab.harness import records
from lab.harness.records import Data, Entries, NotNow, NotShown, Part
from lab.packages import cache
from lab.packages.cache import REPOSITORY, UnavailableHere
from lab.processes.program import ProgramFailed
from lab.servers import StartError, interrupt_on_signals, stand_in, start

FAILED, UNAVAILABLE, INTERRUPTED = 1, 2, 130
"""Exit statuses of a command that runs a campaign; 0 where all bounds hold."""
ATTEMPTS = 2
"""A part that fails with `NotShown` is tried once more, and its record says so: other work can disturb a server."""
CODE = ("advisor", "exporter", "lab", "rules", "tools")
"""The code that a kept entry depends on. When it changes, the parts are run again."""


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


@dataclass(frozen=True)
class Study:
    """Parts of one group that are measured, judged and recorded together.

    Attributes:
        parts: In run order.
        broken: The bounds that entries of some or all parts break, in words.
        lines: What to print of the entries.
        finish: Completes the entries, such as by predictions from what was measured.
    """

    parts: Sequence[Part]
    broken: Callable[[Entries], Iterable[str]] = lambda _: ()
    lines: Callable[[Entries], Iterable[str]] = lambda _: ()
    finish: Callable[[Entries], Entries] = lambda entries: entries

    @property
    def group(self) -> str:
        """Of its parts, and of its record."""
        return self.parts[0].group

    def on(self, server: str) -> Study:
        """The study of the parts for a server; one that no registry has takes those of its stand-in."""
        parts = [
            replace(part, server=server, name=part.name.replace(part.server, server))
            for part in self.parts
            if part.server == stand_in(server)
        ]
        return replace(self, parts=parts)

    def only(self, chosen: Callable[[Part], bool]) -> Study:
        """The study of some of its parts."""
        return replace(self, parts=[part for part in self.parts if chosen(part)])


class JudgedRecord(Protocol):
    """A part's record, which has bounds of its own."""

    def broken(self) -> Iterable[str]:
        """The bounds that do not hold, in words."""


def judged(parts: Sequence[Part], read: Callable[[Data], JudgedRecord]) -> Study:
    """A study whose parts have bounds of their own; ``read`` makes a part's record from its data."""

    def recorded(entries: Entries) -> Iterator[tuple[str, JudgedRecord]]:
        return ((name, read(entry["data"])) for name, entry in entries.items())

    return Study(
        parts,
        broken=lambda entries: (f"{name}: {why}" for name, record in recorded(entries) for why in record.broken()),
        lines=lambda entries: (f"{name}: {record}" for name, record in recorded(entries)),
    )


class Campaign:
    """A run over studies.

    Args:
        studies: In run order; those without parts are left out.
        attempts: How often a part that fails is tried.
        fresh: Whether to discard what an interrupted run kept.
    """

    def __init__(self, studies: Iterable[Study], *, attempts: int = ATTEMPTS, fresh: bool = False) -> None:
        self._studies = [study for study in studies if study.parts]
        self._parts = [part for study in self._studies for part in study.parts]
        self._reporter = Reporter(sum(part.takes for part in self._parts))
        self._attempts = attempts
        self._entries: dict[Part, dict[str, Any]] = {}
        self._not_now: dict[Part, str] = {}
        self._unavailable: dict[Part, str] = {}
        self._failed: dict[Part, str] = {}
        self._broken: list[str] = []
        if fresh:
            self._forget()

    def show(self) -> None:
        """Print the parts with their estimated seconds."""
        for part in self._parts:
            self._reporter.note(f"{part.takes:5.0f} s  {part}")
        minutes = sum(part.takes for part in self._parts) / 60
        self._reporter.note(f"{len(self._parts)} parts, about {minutes:.0f} minutes")

    def run(self, *, record: bool, share: bool = False) -> NoReturn:
        """Measure the parts, judge and record the studies, and end the process with the exit status.

        Args:
            record: Whether complete studies are recorded.
            share: Whether this is a share of a campaign: a later run collects, judges and records its entries.
        """
        interrupt_on_signals()
        try:
            self._measure()
            if not share:
                self._conclude(record=record)
        except KeyboardInterrupt:
            self._reporter.note("\ninterrupted; no server is left behind. The same command continues with the rest.")
            sys.exit(INTERRUPTED)
        self._exit()

    def _measure(self) -> None:
        self._entries = {part: json.loads(path.read_text()) for part in self._parts if (path := _path(part)).is_file()}
        if self._entries:
            self._reporter.note(f"{len(self._entries)} of {len(self._parts)} parts were measured by an earlier run")
        with self._reporter:
            for part in self._parts:
                if part not in self._entries:
                    self._reporter.begin(str(part))
                    self._reporter.end(str(part), self._attempt(part))
                self._reporter.advance(part.takes)

    def _attempt(self, part: Part) -> str:
        """Run a part until it succeeds, or has failed too often; how it ended."""
        began = time.monotonic()
        for attempt in range(1, self._attempts + 1):
            try:
                with start(part.server, part.options, origin=part.origin() if part.origin else None) as server:
                    version, data = server.version, part.run(server, self._reporter.say)
            except UnavailableHere as error:
                self._unavailable[part] = str(error)
                return f"not done: the server is unavailable here: {error}"
            except NotNow as error:
                self._not_now[part] = str(error)
                return f"not now: {error}"
            except (NotShown, StartError, ProgramFailed) as error:
                self._failed[part] = str(error)
                self._reporter.note(f"{part}: FAILED (attempt {attempt} of {self._attempts}): {error}")
                continue
            self._failed.pop(part, None)
            seconds = time.monotonic() - began
            self._keep(
                part,
                {
                    "server": part.server,
                    "version": version,
                    "seconds": round(seconds, 1),
                    "attempts": attempt,
                    "data": data,
                },
            )
            return f"{seconds:.0f} s"
        return "not done"

    def _keep(self, part: Part, entry: dict[str, Any]) -> None:
        path = _path(part)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(entry), encoding="utf-8")
        unfinished.rename(path)
        self._entries[part] = entry

    def _conclude(self, *, record: bool) -> None:
        """Judge the studies, and record the complete ones."""
        for study in self._studies:
            done = {part.name: self._entries[part] for part in study.parts if part in self._entries}
            if not done:
                continue
            entries = study.finish(done)
            for text in study.lines(entries):
                self._reporter.note(text)
            self._broken += study.broken(entries)
            if record and len(entries) == len(study.parts):
                records.save(study.group, entries)
                self._reporter.note(f"recorded in lab/records/{study.group}.json")
        if len(self._entries) == len(self._parts):
            self._forget(versioned=False)

    def _forget(self, *, versioned: bool = True) -> None:
        for part in self._parts:
            if versioned or not part.version:
                _path(part).unlink(missing_ok=True)

    def _exit(self) -> NoReturn:
        """Name the parts without an entry and the broken bounds."""
        for part, why in self._not_now.items():
            self._reporter.note(f"not now {part}: {why}")
        failed = [f"{part}: {why}" for part, why in self._failed.items()] + self._broken
        for text in (*(f"{part}: {why}" for part, why in self._unavailable.items()), *failed):
            self._reporter.note(f"FAILED {text}")
        self._reporter.note(f"{len(self._entries)} of {len(self._parts)} parts done, {len(failed)} failed")
        sys.exit(FAILED if failed else UNAVAILABLE if self._unavailable else 0)


def _path(part: Part) -> Path:
    """The file that keeps a part's entry until its study is recorded; with a version, for good."""
    name = hashlib.sha256((part.name + part.version).encode()).hexdigest()[:16]
    return (cache.folder() / part.group if part.version else _unfinished()) / part.group / f"{name}.json"


@functools.cache
def _unfinished() -> Path:
    """The folder of what this code measured; removes those of other code."""
    folder = cache.folder() / "lab" / _digest()
    for other in folder.parent.glob("*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for folder in CODE for path in (REPOSITORY / folder).rglob("*")):
        if path.suffix in {".py", ".yaml", ".toml"} and "records" not in path.parts:
            digest.update(str(path.relative_to(REPOSITORY)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
