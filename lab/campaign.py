"""Long work in parts: each is kept when it is done, so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.packages import cache
from lab.packages.cache import Unavailable
from lab.reports.reporting import Reporter
from lab.servers import Server, StartError, start

Data = Mapping[str, Any]
"""What a part found: whatever JSON can hold."""

ATTEMPTS = 2
"""Real servers on a busy machine: a part that does not show what it should is tried once more, and says so."""
CODE = ("advisor", "exporter", "lab", "rules")
"""What a kept part rests on; with other code it is done again."""


class NotShown(Exception):
    """The server did not do what it should; the text says what was expected and what was seen."""


class NotNow(Exception):
    """The machine is not as the part needs it to be, such as idle; the text says what it is."""


@dataclass(frozen=True)
class Part:
    """One server's share of an experiment or a proof.

    Attributes:
        group: What it belongs to, such as `experiments/E3` or `proofs/old-blocks-time-zero`.
        name: Which part, such as `mysql-5.6, pct 37`; it has the server's name in it.
        server: Which server it runs on, one of `lab.servers.NAMES`.
        options: What that is started with.
        run: Does it: takes the running server, and something that says what is being done. Raises `NotShown` or
            `NotNow`.
        takes: About how many seconds, for the progress bar.
    """

    group: str
    name: str
    server: str
    options: Mapping[str, str]
    run: Callable[[Server, Callable[[str], None]], Data]
    takes: float = 30.0

    @property
    def subject(self) -> str:
        """The experiment's or the rule's id."""
        return self.group.rpartition("/")[2]

    def __str__(self) -> str:
        return f"{self.subject}: {self.name}"


@dataclass(frozen=True)
class Done:
    """A part's result, and where it comes from."""

    part: Part
    server: str
    version: str
    seconds: float
    attempts: int
    data: Data

    def record(self) -> dict[str, Any]:
        """As it stands in a record file."""
        return {
            "server": self.server,
            "version": self.version,
            "seconds": round(self.seconds, 1),
            "attempts": self.attempts,
            "data": self.data,
        }


class Campaign:
    """A run over parts.

    Args:
        parts: In the order in which they are done.
        reporter: Is told how it goes.
        folder: Where finished parts are kept until all are done.
    """

    def __init__(self, parts: Sequence[Part], reporter: Reporter, folder: Path | None = None) -> None:
        self._parts = parts
        self._reporter = reporter
        self._folder = folder or _unfinished()
        self.failed: dict[str, str] = {}
        self.unavailable: dict[str, str] = {}
        self.not_now: dict[str, str] = {}

    def run(self) -> list[Done]:
        """Do what is not done yet; all that is, in order. The rest is in ``failed``, ``unavailable`` and ``not_now``.

        Raises:
            KeyboardInterrupt: It was interrupted; what is done is kept for the next run.
        """
        before = {str(part): kept for part in self._parts if (kept := self._kept(part)) is not None}
        if before:
            self._reporter.note(f"{len(before)} of {len(self._parts)} parts were done by an interrupted run")
        done = []
        with self._reporter:
            for part in self._parts:
                found = before.get(str(part)) or self._do(part)
                if found is not None:
                    done.append(found)
                self._reporter.advance(part.takes)
        return done

    def forget(self) -> None:
        """Do everything anew the next time."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _do(self, part: Part) -> Done | None:
        began = time.monotonic()
        for attempt in range(1, ATTEMPTS + 1):
            self._reporter.begin(str(part))
            try:
                with start(part.server, part.options) as server:
                    version = server.version
                    data = part.run(server, self._reporter.say)
            except Unavailable as error:
                self.unavailable[str(part)] = str(error)
                self._reporter.end(str(part), f"not done: the server can't be had here: {error}")
                return None
            except NotNow as error:
                self.not_now[str(part)] = str(error)
                self._reporter.end(str(part), f"not now: {error}")
                return None
            except (NotShown, StartError) as error:
                self.failed[str(part)] = str(error)
                self._reporter.end(str(part), f"FAILED (attempt {attempt} of {ATTEMPTS}): {error}")
                continue
            self.failed.pop(str(part), None)
            found = Done(part, part.server, version, time.monotonic() - began, attempt, data)
            self._keep(found)
            self._reporter.end(str(part), f"{found.seconds:.0f} s")
            return found
        return None

    def _path(self, part: Part) -> Path:
        return self._folder / part.group / f"{hashlib.sha256(part.name.encode()).hexdigest()[:16]}.json"

    def _keep(self, done: Done) -> None:
        path = self._path(done.part)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(done.record()), encoding="utf-8")
        unfinished.rename(path)

    def _kept(self, part: Part) -> Done | None:
        path = self._path(part)
        if not path.is_file():
            return None
        return Done(part=part, **json.loads(path.read_text(encoding="utf-8")))


def _unfinished() -> Path:
    """The folder of what this code's interrupted runs have done; other code's is of no use any more."""
    folder = cache.folder() / "lab" / _digest()
    for other in folder.parent.glob("*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def _digest() -> str:
    """Of the code and the rules, so that results of other code are not taken for this one's."""
    root = Path(__file__).parent.parent
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
