"""The journal: the file of the ledger, one for each server's address, beside the stored history in --state-dir.

It is JSON lines: ``{"ledger": 1, "by": …}`` first, then lists of the entries that became known together, of which a
later one replaces an earlier one with the same key. A line is appended and synced before it is told, so that a kill
loses nothing that was told: at most a torn last line, which nobody was told of. A file that has grown too large is
written anew with what the ledger holds, synced, and renamed.

The reader keeps every line that it can read. A file with others is set aside as it was, and written anew without them.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from advisor.ledger.entry import Entry
from advisor.ledger.ledger import Ledger
from advisor.ledger.lines import entry, line
from exporter import __version__
from exporter.files import open_regular
from exporter.recording import folder as folders
from exporter.recording.bounds import Budget, TooMuch, lines

log = logging.getLogger(__name__)

FORMAT = 1
LARGEST_BYTES = 64 << 20
"""A larger file is not one of ours: the largest ledger takes a quarter of it, and grows to twice its size."""
_GROWTH, _LEAST_BYTES = 2, 1 << 20
"""The file is written anew when it has grown so many times, and has so many bytes."""
_PATIENCE = 10.0
"""Seconds that the folder may take before an entry is told without having been kept."""
_SUFFIX, _ASIDE = "-ledger.jsonl", ".damaged"


class UnusableJournal(Exception):
    """The file is there, but is no journal of this version; the text says why."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a journal holds.

    Attributes:
        entries: In the order of their lines.
        bytes: Size of the file.
        torn: Whether it ends within a line.
        damage: The first line that cannot be read, and why; None where there is none.
    """

    entries: tuple[Entry, ...]
    bytes: int
    torn: bool
    damage: str | None = None

    @property
    def ledger(self) -> Ledger:
        """The ledger that they make."""
        return Ledger.of(self.entries)


def path_of(folder: Path, address: str) -> Path:
    """The file of a server."""
    return folder / f"{folders.key(address)}{_SUFFIX}"


def paths(folder: Path) -> list[Path]:
    """The journals in a folder, of all servers. Raises OSError."""
    return sorted(each for each in folder.iterdir() if each.name.endswith(_SUFFIX))


def read(path: Path) -> Content:
    """What a file holds. It is not changed: its sidecar may be writing to it.

    Raises:
        FileNotFoundError: There is none.
        UnusableJournal: It cannot be read, or is something else.
    """
    reading = _Reading()
    try:
        with open_regular(path, follow=False) as file:
            for number, written in enumerate(lines(file, Budget(text=LARGEST_BYTES)), 1):
                reading.take(number, written)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnusableJournal(error.strerror or str(error)) from error
    except TooMuch as error:
        raise UnusableJournal(str(error)) from error
    if not reading.has_head:
        raise UnusableJournal("it has no whole line")
    return Content(tuple(reading.found), reading.bytes, reading.torn, reading.damage)


class _Reading:
    """What was read of a journal so far. The fields are those of Content."""

    def __init__(self) -> None:
        self.found: list[Entry] = []
        self.bytes, self.torn, self.has_head = 0, False, False
        self.damage: str | None = None

    def take(self, number: int, written: bytes) -> None:
        """Take a line. Raises UnusableJournal."""
        self.bytes += len(written)
        if not written.endswith(b"\n"):
            self.torn = True
        elif number == 1:
            _check_head(written)
            self.has_head = True
        else:
            try:
                self.found += list(map(entry, json.loads(written)))
            except (ValueError, TypeError, RecursionError) as error:
                self.damage = self.damage or f"line {number}: {error}"


def _check_head(written: bytes) -> None:
    try:
        head = json.loads(written)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or "ledger" not in head:
        raise UnusableJournal("it does not begin as a journal of innodb-advisor does")
    if head["ledger"] != FORMAT:
        raise UnusableJournal(f"it has the format {head['ledger']}; this version reads {FORMAT}")


class Journal:
    """The journal of a server, kept in a folder. Errors of the folder are logged, never raised.

    Attributes:
        ledger: As it was found at the start.
        problem: Why the last entries were not kept; None where they were.
    """

    def __init__(
        self, folder: Path, address: str, *, least_bytes: int = _LEAST_BYTES, patience: float = _PATIENCE
    ) -> None:
        """Read the file, or begin one.

        Args:
            folder: Created for this account only if it does not exist.
            address: The server's address; each address has its own journal.
            least_bytes: A file of fewer bytes is not written anew.
            patience: Seconds that the folder may take.
        """
        self.problem: str | None = None
        self._path = path_of(folder, address)
        self._least_bytes, self._patience = least_bytes, patience
        self._bytes = self._anew = 0  # of the file: now, and when it was last written anew
        self._behind = True  # whether the file lacks entries, or ends with a torn line
        self._writing: threading.Thread | None = None
        self._error: Exception | None = None  # of the last write
        self.ledger = self._read()
        if self._behind:
            self.keep((), self.ledger)

    def keep(self, new: Sequence[Entry], ledger: Ledger) -> None:
        """Return once new entries are on the disk; or, with a ``problem``, when the folder fails or does not answer.

        Args:
            new: The entries.
            ledger: The ledger with them.
        """
        if self._writing is not None and self._writing.is_alive():
            self._behind = True
            self._failed(TimeoutError("the folder does not answer"))
            return
        data = _json(list(map(line, new)))
        most = max(self._least_bytes, _GROWTH * self._anew)
        anew = self._behind or self._bytes + len(data) > most
        self._behind = True  # until it is written
        # A daemon: a folder that does not answer must not delay the sidecar's end.
        self._writing = threading.Thread(target=self._write, args=(data, ledger, anew), name="ledger", daemon=True)
        try:
            self._writing.start()
        except RuntimeError as error:  # no thread available
            self._failed(error)
            return
        self._writing.join(self._patience)
        if self._writing.is_alive():
            self._failed(TimeoutError("the folder does not answer"))
        elif self._error is not None:
            self._failed(self._error)
        else:
            self._behind, self.problem = False, None

    def _write(self, data: bytes, ledger: Ledger, anew: bool) -> None:  # noqa: FBT001 - a thread's target
        self._error = None
        try:
            if not anew:
                with suppress(OSError):  # no room, or deleted: then it is written anew
                    folders.append(self._path, data)
                    self._bytes += len(data)
                    return
            whole = _head() + b"".join(_json([line(each)]) for each in ledger.entries)
            self._put(self._path, whole)
            self._bytes = self._anew = len(whole)
        except OSError as error:
            self._error = error

    def _put(self, path: Path, content: bytes) -> None:
        """Write a whole file. Raises OSError."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = folders.part_of(path)
        try:
            part.write_bytes(content)
            folders.put(part, path)
        except OSError:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise

    def _read(self) -> Ledger:
        """The ledger of the file, which is set aside if it is damaged."""
        try:
            content = read(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return Ledger()
        except UnusableJournal as unusable:
            log.warning("the ledger begins anew: %s is set aside: %s", self._path, unusable)
            with suppress(OSError):  # writing it anew meets the same error
                self._path.replace(self._aside)
            return Ledger()
        if content.damage is not None:
            log.warning("%s is set aside, and its readable lines are kept: %s", self._path, content.damage)
            with suppress(OSError):
                self._put(self._aside, self._path.read_bytes())
        self._behind = content.torn or content.damage is not None
        self._bytes = content.bytes
        if content.entries:
            log.info("found a ledger of %d entries in %s", len(content.entries), self._path)
        return content.ledger

    @property
    def _aside(self) -> Path:
        return self._path.with_name(self._path.name + _ASIDE)

    def _failed(self, error: Exception) -> None:
        said = str(getattr(error, "strerror", None) or error)
        if self.problem is None:
            log.warning("cannot keep the ledger in %s: %s", self._path.parent, said)
        self.problem = said


def _head() -> bytes:
    return _json({"ledger": FORMAT, "by": f"innodb-advisor {__version__}"})


def _json(value: object) -> bytes:
    """A line. Names of a server need not be valid text: they are escaped."""
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
