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
and ``{"end": <lines before>}`` last: without it the recording is truncated.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self, cast

from exporter import __version__
from exporter.pseudonyms import Pseudonyms
from exporter.rows import Rows
from exporter.sampling.assembly import Answer, Assembler
from exporter.server import Server, identify, identity
from exporter.snapshot import Snapshot

FORMAT = 1


class RecordingError(ValueError):
    """The file is not a usable recording; the text says why and where."""


class Carried(Protocol):
    """What a recording carries beside answers."""

    def lines(self, names: Pseudonyms | None = None) -> list[Any]:
        """As JSON values; with ``names`` in place of the owner's, and without what may hold others."""


class Recorder:
    """Writes a recording, which is complete once the recorder is closed."""

    def __init__(self, path: Path, compression: int = 9) -> None:
        """Open the file.

        Args:
            path: The file; compressed if it ends in .gz.
            compression: gzip's level, 1 to 9.

        Raises:
            OSError: It cannot be written.
        """
        self._close = ExitStack()
        self._file: BinaryIO = self._close.enter_context(path.open("wb"))
        if path.suffix == ".gz":
            # No name and no time in the header: the same rows make the same file.
            compressed = gzip.GzipFile(filename="", mode="wb", fileobj=self._file, compresslevel=compression, mtime=0)
            self._file = cast("BinaryIO", self._close.enter_context(compressed))
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

    def ledger(self, ledger: Carried) -> None:
        """What became of advice until now; it replaces what came before."""
        self._write({"ledger": ledger.lines()})

    def close(self) -> None:
        """Write the end mark and close the file."""
        self._write({"end": self._lines})
        self._close.close()

    def _write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        self._file.write(text.encode("utf-8", "surrogatepass") + b"\n")  # json reads it the same way
        self._lines += 1


def replay(path: Path) -> Iterator[Snapshot]:
    """The snapshots of a recording, made by the same parsers as from a live server.

    Raises:
        RecordingError: The file cannot be read, is not a recording, or is damaged or truncated.
    """
    return Replayer().read(path)


class Replayer:
    """Reads a series of recordings, in which a session may continue from one recording to the next.

    Attributes:
        ledger: The entries that the last of them carries that has any, as JSON values; None where none has.
    """

    def __init__(self) -> None:
        self.ledger: list[Any] | None = None
        self._assembler: Assembler | None = None

    def read(self, path: Path) -> Iterator[Snapshot]:
        """The snapshots of the next recording. Raises RecordingError, as ``replay`` does."""
        began = False
        last: dict[str, tuple[Rows, ...]] = {}
        for number, line in _lines(path):
            try:
                if "server" in line:
                    self._session(identify(line["server"]), line["account"], continued="continued" in line)
                    began = True
                elif self._assembler is None or not began:
                    raise ValueError("an answer before any session")
                elif "answer" in line:
                    answer = _answer(line, last)
                    if answer.failure is None:
                        last[answer.collector] = answer.results
                    self._assembler.take(answer)
                elif "collection" in line:
                    yield self._assembler.snapshot(float(line["collection"]))
                elif "ledger" in line:
                    self.ledger = list(line["ledger"])
            except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
                what = f"{type(error).__name__}: {error}"
                raise RecordingError(f"{path}:{number}: damaged recording: {what}") from error

    def _session(self, server: Server, account: str, *, continued: bool) -> None:
        current = self._assembler
        if not continued or current is None or (current.server, current.account) != (server, account):
            self._assembler = Assembler(server, account)


def _answer(line: dict[str, Any], last: dict[str, tuple[Rows, ...]]) -> Answer:
    name, at, seconds = line["answer"], float(line["at"]), float(line["seconds"])
    if "failure" in line:
        return Answer(name, at, seconds, (), line["failure"], line["reason"], line["cure"])
    results = last[name] if "same" in line else tuple(Rows.of(r["columns"], r["rows"]) for r in line["results"])
    return Answer(name, at, seconds, results)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The parsed lines between the first and the last, with their numbers; checks the first and the last."""
    opener = gzip.open if path.suffix == ".gz" else open
    number = 0
    try:
        # Closed here, and not by a generator of its own: an interruption while Python frees a generator would be lost.
        with opener(path, "rb") as file:
            for number, line in enumerate(map(partial(_parsed, path), cast("BinaryIO", file)), 1):
                if number == 1:
                    _check_head(path, line)
                elif "end" in line:
                    if line["end"] != number - 1:
                        raise RecordingError(f"{path}: lines are missing: {line['end']} written, {number - 1} found")
                    return
                else:
                    yield number, line
    except gzip.BadGzipFile as error:
        raise RecordingError(f"{path} is named .gz but is not gzip-compressed, or is damaged") from error
    except OSError as error:
        raise RecordingError(f"cannot read the recording {path}: {error.strerror}") from error
    except RecordingError:
        raise
    except (ValueError, RecursionError, EOFError, zlib.error) as error:  # ValueError: also too many digits
        what = f"truncated or damaged after line {number}" if number else "not a recording of innodb-advisor"
        raise RecordingError(f"{path}: {what}") from error
    raise RecordingError(f"{path}: truncated: it ends after line {number} without its end mark")


def _parsed(path: Path, raw: bytes) -> dict[str, Any]:
    line = json.loads(raw)
    if not isinstance(line, dict):
        raise RecordingError(f"{path}: not a recording of innodb-advisor")
    return line


def _check_head(path: Path, line: dict[str, Any]) -> None:
    if "recording" not in line:
        raise RecordingError(f"{path}: not a recording of innodb-advisor")
    if line["recording"] != FORMAT:
        raise RecordingError(f"{path}: recording format {line['recording']}; this version reads {FORMAT}")
