"""The names of this machine that a capture must not contain, and the recorder that replaces them."""

from __future__ import annotations

import gzip
import re
import socket
import tempfile
from dataclasses import replace
from pathlib import Path

from exporter.recording.file import Recorder
from exporter.rows import Rows, Value
from exporter.sampling.assembly import Answer
from lab.harness.records import NotShown
from lab.packages import cache
from lab.servers import PrivateServer, programs

BASEDIR = "/usr"
DATADIR, TMPDIR, HOSTNAME = "/var/lib/mysql", "/tmp", "db1"  # noqa: S108 - written, never opened
REWRITTEN = (
    f"program folder to {BASEDIR}, data folder to {DATADIR}, temporary folder to {TMPDIR}, host name to {HOSTNAME}; "
    "nothing else"
)


class RedactedRecorder(Recorder):
    """A recorder that replaces the names of folders and of the machine, and keeps all else."""

    def __init__(self, path: Path, server: PrivateServer) -> None:
        """Open the file.

        Raises:
            OSError: It cannot be written.
        """
        super().__init__(path)
        self._folders = {
            str(programs.find(server.name).base): BASEDIR,
            str(server.datadir): DATADIR,
            str(server.socket.parent): TMPDIR,  # the data folder is in it
        }
        self._host = re.compile(rf"\b{re.escape(socket.gethostname())}\b")

    def answer(self, answer: Answer) -> None:
        """Record an answer, with the names replaced."""
        results = tuple(
            Rows(rows.columns, tuple(tuple(map(self._value, row)) for row in rows.rows)) for rows in answer.results
        )
        super().answer(replace(answer, results=results, reason=self._text(answer.reason)))

    def _value(self, value: Value) -> Value:
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        for folder, name in self._folders.items():
            text = text.replace(folder, name)
        return self._host.sub(HOSTNAME, text)


def leaks(recording: Path) -> list[str]:
    """The kinds of names of this machine in a recording: temporary folders, the repository, the host."""
    with gzip.open(recording, "rt", encoding="utf-8") as file:
        text = file.read().replace("\\n", "\n")  # an escaped line end would hide the begin of a word
    return [what for what, pattern in _of_this_machine().items() if re.search(pattern, text)]


def check(recording: Path) -> None:
    """Check that a recording names nothing of this machine.

    Raises:
        NotShown: It does.
    """
    if names := leaks(recording):
        raise NotShown(f"the recording still names {', '.join(names)}")


def _of_this_machine() -> dict[str, str]:
    """Patterns by their meaning."""
    folders = {
        "a folder of temporary files": f"{Path(tempfile.gettempdir()).resolve()}/innodb-advisor-",
        "the repository": f"{cache.REPOSITORY}/",
        "the cache": f"{cache.folder()}/",
    }
    patterns = {what: re.escape(folder) for what, folder in folders.items()}
    # A machine's name may be a word that servers print.
    if (host := socket.gethostname()) not in (HOSTNAME, "localhost", "mysql", "mariadb", "debian"):
        patterns["the host name"] = rf"\b{re.escape(host)}\b"
    return patterns
