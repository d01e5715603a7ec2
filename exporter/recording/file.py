"""Recordings: files of the rows that a server returned.

A recording is JSON lines, gzip-compressed if the file's name ends in .gz:

``{"recording": 1, "by": …}`` first, then in the order of events
``{"server": {<identity variables>}, "account": …}`` for each session that was opened, with ``"continued": true`` if it
was opened in an earlier recording,
``{"answer": <collector>, "at": …, "seconds": …, "results": [{"columns": […], "rows": [[…]]}]}`` with
``"same": true`` in place of results equal to that collector's last, or ``"failure"``, ``"reason"``, ``"cure"``,
``{"collection": <Unix seconds>}`` at the end of a collection,
``{"ledger": [{"kind": …}, …]}`` with what became of advice until then, as advisor.ledger has it; readers that do not
know this line skip it,
and ``{"end": <lines before>}`` last: without it the recording is truncated, and its complete collections count.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self, cast, get_args

from exporter import __version__
from exporter.anonymisation import Pseudonyms
from exporter.collectors import BY_NAME
from exporter.files import open_regular
from exporter.recording.bounds import ReadBudget, TooMuch, gunzip, lines, moment
from exporter.rows import Rows
from exporter.sampling.assembly import Answer, Assembler
from exporter.server import Server, identify, identity
from exporter.snapshot import Failure, Snapshot

FORMAT = 1
_MOST_OTHERS = 100
"""Collectors that this version does not have; a later one may have some."""
_LONGEST = 1e9
"""Seconds that a collector can have taken."""
_LONGEST_NAME = 60
"""Characters of a foreign text that a message shows."""
_CURE = "record for less time, or with a longer --interval"


class RecordingError(ValueError):
    """The file is not a usable recording; the text says why and where."""


class TooLarge(RecordingError):
    """The recording takes more time or memory than a recording may."""


class TruncatedRecording(RecordingError):
    """The recording ends early, as that of a machine that crashed, or a copy that broke off. All before is intact."""


LedgerLines = Callable[[Pseudonyms | None], list[Any]]
"""The ledger of a recording as JSON values; with pseudonyms in place of the owner's names, and without other texts."""


class Recorder:
    """Writes a recording, which is complete once the recorder is closed.

    Attributes:
        collections: Complete collections so far.
    """

    def __init__(self, file: Path | BinaryIO, compression: int = 9) -> None:
        """Begin the recording.

        Args:
            file: A path, compressed if it ends in .gz; or an open file, which is compressed and stays open.
            compression: gzip's level, 1 to 9.

        Raises:
            OSError: It cannot be written.
        """
        self._close = ExitStack()
        self._file = self._close.enter_context(file.open("wb")) if isinstance(file, Path) else file
        if not isinstance(file, Path) or file.suffix == ".gz":
            # No name and no time in the header: the same rows make the same file.
            compressed = gzip.GzipFile(filename="", mode="wb", fileobj=self._file, compresslevel=compression, mtime=0)
            self._file = cast("BinaryIO", self._close.enter_context(compressed))
        self.collections = 0
        self._lines = 0
        self._last: dict[str, tuple[Rows, ...]] = {}
        self._write({"recording": FORMAT, "by": f"innodb-advisor {__version__}"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def session(self, server: Server, account: str) -> None:
        """A session was opened."""
        self._write({"server": identity(server), "account": account})

    def resume(self, server: Server, account: str, answers: Iterable[Answer]) -> None:
        """Continue a session of an earlier recording, with the collectors' last answers."""
        self._write({"server": identity(server), "account": account, "continued": True})
        for answer in answers:
            self.answer(answer)

    def answer(self, answer: Answer) -> None:
        """A collector ran."""
        line: dict[str, Any] = {
            "answer": answer.collector,
            "at": answer.at,
            "seconds": round(answer.seconds, 6),
        }
        if answer.failure is not None:
            line |= {"failure": answer.failure, "reason": answer.reason, "cure": answer.cure}
        elif answer.results == self._last.get(answer.collector):
            line["same"] = True
        else:
            line["results"] = [{"columns": r.columns, "rows": r.rows} for r in answer.results]
            self._last[answer.collector] = answer.results
        self._write(line)

    def collection(self, at: float) -> None:
        """A collection that began at ``at`` (Unix seconds) is complete."""
        self._write({"collection": at})
        self.collections += 1

    def ledger(self, lines: LedgerLines) -> None:
        """What became of advice until now; it replaces what came before."""
        self._write({"ledger": lines(None)})

    def close(self) -> None:
        """Write the end mark and close the file, which is closed too if that fails. Raises OSError."""
        with self._close:
            self._write({"end": self._lines})

    def _write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        self._file.write(text.encode("utf-8", "surrogatepass") + b"\n")  # json reads it the same way
        self._lines += 1


def replay(path: Path) -> Iterator[Snapshot]:
    """The snapshots of a recording, made by the same parsers as from a live server.

    Raises:
        TruncatedRecording: After the last complete collection: the recording ends early.
        RecordingError: The file cannot be read, is not a recording, is damaged, or is too much to read.
    """
    return Replayer().read(path)


def copy(path: Path, to: Recorder, ledger: Callable[[list[Any]], LedgerLines]) -> None:
    """Record a recording again: answers as they are, or without the owner's names.

    Args:
        path: The recording.
        to: Records it.
        ledger: Understands the ledger of the recording.

    Raises:
        RecordingError: As ``replay`` does; what came before is recorded.
        OSError: It cannot be written.
    """
    for event in _events(path, ReadBudget(cure=_CURE)):
        match event:
            case RecordedSession():
                to.session(event.server, event.account)
            case Answer():
                to.answer(event)
            case float():
                to.collection(event)
            case _:
                to.ledger(ledger(event))


class Replayer:
    """Reads a series of recordings, in which a session may continue from one recording to the next.

    Attributes:
        ledger: The entries of the last of them that has any, as JSON values; None where none has.
    """

    def __init__(self, budget: ReadBudget | None = None) -> None:
        """Nothing is read yet.

        Args:
            budget: What all of them may take; by default what one recording may.
        """
        self.ledger: list[Any] | None = None
        self._budget = budget or ReadBudget(cure=_CURE)
        self._assembler: Assembler | None = None

    def read(self, path: Path, content: bytes | None = None) -> Iterator[Snapshot]:
        """The snapshots of the next recording. Raises RecordingError, as ``replay`` does.

        Args:
            path: The recording, or the file that stores its content.
            content: The compressed content, where it is no file of its own.
        """
        for event in _events(path, self._budget, content):
            match event:
                case RecordedSession():
                    self._session(event)
                case Answer() if self._assembler is not None:
                    self._assembler.take(event)
                case float() if self._assembler is not None:
                    yield self._assembler.snapshot(event)
                case list():
                    self.ledger = event

    def _session(self, session: RecordedSession) -> None:
        current, same = self._assembler, (session.server, session.account)
        if not session.continued or current is None or (current.server, current.account) != same:
            self._assembler = Assembler(*same)


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """A session that was opened, in this recording or in an earlier one."""

    server: Server
    account: str
    continued: bool


Event = RecordedSession | Answer | float | list[Any]
"""A session, a collector's answer, the time of a complete collection, or the ledger's entries as JSON values."""


def _events(path: Path, budget: ReadBudget, content: bytes | None = None) -> Iterator[Event]:
    """The events of a recording, in their order; the first is a session. Arguments and errors as of ``Replayer``."""
    began = False
    last: dict[str, tuple[Rows, ...]] = {}
    for number, line in _lines(path, content, budget):
        try:
            if "server" in line:
                began = True
                yield RecordedSession(identify(line["server"]), str(line["account"]), "continued" in line)
            elif not began:
                raise ValueError("an answer before any session")
            elif "answer" in line:
                yield _answer(line, last)
            elif "collection" in line:
                yield moment(line["collection"])
            elif "ledger" in line:
                yield list(line["ledger"])
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            what = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
            raise RecordingError(f"{path}:{number}: damaged recording: {what}") from error


def _answer(line: dict[str, Any], last: dict[str, tuple[Rows, ...]]) -> Answer:
    """The answer, which becomes the last one of its collector if it is no failure."""
    name, at, seconds = line["answer"], moment(line["at"]), float(line["seconds"])
    if not 0 <= seconds < _LONGEST:
        raise ValueError(f"a collector did not take {seconds:g} s")
    if name not in BY_NAME and name not in last and len(last.keys() - BY_NAME.keys()) >= _MOST_OTHERS:
        raise ValueError(f"more than {_MOST_OTHERS} sources that this version does not know")
    if "failure" in line:
        failure, reason, cure = line["failure"], line["reason"], line["cure"]
        if failure not in get_args(Failure) or not isinstance(reason, str) or not isinstance(cure, str | None):
            raise ValueError("a failure of no known kind")
        return Answer(name, at, seconds, (), failure, reason, cure)
    results = last[name] if "same" in line else tuple(Rows.of(r["columns"], r["rows"]) for r in line["results"])
    last[name] = results
    return Answer(name, at, seconds, results)


def _lines(path: Path, content: bytes | None, budget: ReadBudget) -> Iterator[tuple[int, dict[str, Any]]]:
    """The parsed lines between the first and the last, with their numbers; checks the first and the last."""
    number = 0
    try:
        # Closed here, and not by a generator of its own: an interruption while Python frees a generator would be lost.
        with ExitStack() as opened:
            file = opened.enter_context(open_regular(path) if content is None else io.BytesIO(content))
            if content is not None or path.suffix == ".gz":
                file = opened.enter_context(gunzip(file))
            for number, text in enumerate(lines(file, budget), 1):
                line = _parsed(path, number, text)
                if number == 1:
                    _check_head(path, line)
                elif "end" in line:
                    _check_end(path, number, line["end"], file)
                    return
                else:
                    yield number, line
    except gzip.BadGzipFile as error:
        what = f"damaged after line {number}" if number else "named .gz but is not gzip-compressed, or is damaged"
        raise RecordingError(f"{path} is {what}: {error}") from error
    except TooMuch as error:
        raise TooLarge(f"{path}:{number + 1}: {error}") from error
    except EOFError as error:
        raise _truncated(path, number) from error
    except OSError as error:
        raise RecordingError(f"cannot read the recording {path}: {error.strerror}") from error
    except zlib.error as error:
        raise RecordingError(f"{path}: damaged after line {number}: it cannot be decompressed") from error
    raise _truncated(path, number)


def _truncated(path: Path, number: int) -> TruncatedRecording:
    return TruncatedRecording(f"{path}: truncated: it ends after line {number} without its end mark")


def _parsed(path: Path, number: int, text: bytes) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also too many digits
        if number > 1 and not text.endswith(b"\n"):
            raise _truncated(path, number - 1) from error
        line = None
    if isinstance(line, dict):
        return line
    if number == 1:
        raise RecordingError(f"{path}: not a recording of innodb-advisor")
    raise RecordingError(f"{path}:{number}: damaged recording: not a line of JSON that a recording has")


def _check_end(path: Path, number: int, written: object, file: BinaryIO) -> None:
    if written != number - 1:
        raise RecordingError(f"{path}: lines are missing: {str(written)[:_LONGEST_NAME]} written, {number - 1} found")
    if file.read(1):  # and the checksum of what was compressed is right
        raise RecordingError(f"{path}:{number}: more follows the end of the recording")


def _check_head(path: Path, line: dict[str, Any]) -> None:
    if "recording" not in line:
        raise RecordingError(f"{path}: not a recording of innodb-advisor")
    if line["recording"] != FORMAT:
        written = str(line.get("by", "another version"))[:_LONGEST_NAME]
        raise RecordingError(
            f"{path}: recording format {ascii(line['recording'])[:_LONGEST_NAME]}; this version reads {FORMAT}: "
            f"use the version that wrote it ({written!a})"
        )
