"""The state that outlives a restart: one SQLite file in --state-dir for each server's address.

Only the sidecar of the server writes the file, in one thread. Its log is written ahead (WAL), so commands may read it
meanwhile. With ``synchronous=FULL`` a commit returns once the log is synced, so neither a kill nor a power cut loses it
(https://www.sqlite.org/pragma.html#pragma_synchronous).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import logging
import os
import queue
import sqlite3
import stat
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self, TypeVar

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Work = Callable[[sqlite3.Connection], Answer]

LARGEST_BYTES = 256 << 20
"""Twice what the snapshots (64 MiB), the largest ledger (16 MiB), the hours (2 MiB) and the log of one write take."""
PATIENCE = 10.0
"""Seconds to wait for a folder that does not answer, such as a network share."""
SUFFIX = ".sqlite"
_NO_ANSWER = "the folder does not answer"
_TABLES = {
    "snapshots": "CREATE TABLE snapshots (id INTEGER PRIMARY KEY, at REAL NOT NULL, recording BLOB NOT NULL)",
    "entries": "CREATE TABLE entries (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL)",
    "hours": "CREATE TABLE hours (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL)",
}


class InUse(Exception):
    """Another sidecar keeps this server's state here; the text says which one, and what to do."""


class StateError(Exception):
    """The state cannot be read or written; the text says why."""


def path_of(folder: Path, address: str) -> Path:
    """The file of a server's address."""
    return folder / f"{hashlib.sha256(address.encode()).hexdigest()[:12]}{SUFFIX}"


def paths(folder: Path) -> list[Path]:
    """The files in a folder, of all servers. Raises OSError."""
    return sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)


def read(path: Path, work: Work[Answer]) -> Answer:
    """Read a file to which its sidecar may be writing. Nothing is changed or set aside.

    Raises:
        FileNotFoundError: There is none.
        StateError: It cannot be read.
    """
    try:
        path.lstat()
        _refuse_others(path)
        with contextlib.closing(_connected(path, "ro")) as connection:
            _check(connection)
            return work(connection)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except (OSError, sqlite3.Error) as error:
        raise StateError(_reason(error)) from error


class StateFile:
    """The file of a server's state, and its only writer.

    Failures are logged once until a write succeeds again: the sidecar goes on, and later writes try again.

    Attributes:
        path: The file.
        damaged: Damaged files that were set aside since the start.
    """

    def __init__(self, folder: Path, address: str, *, patience: float = PATIENCE) -> None:
        """Keep other sidecars out. The file is opened by the first work.

        Args:
            folder: Created for this account only if it does not exist.
            address: The server's address; each address has its own file.
            patience: Seconds that ``run`` and ``close`` wait.

        Raises:
            InUse: Another sidecar has it.
        """
        self.path, self.damaged = path_of(folder, address), 0
        self._address, self._patience, self._failing = address, patience, False
        self._connection: sqlite3.Connection | None = None
        self._late: Future[Any] | None = None
        self._works = queue.SimpleQueue[tuple[Work[Any], Future[Any]] | None]()
        self._lock = self._locked()
        # A daemon: a folder that does not answer must not delay the sidecar's end.
        self._thread = threading.Thread(target=self._write, name="state", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, work: Work[Answer]) -> Future[Answer]:
        """Do work in a transaction, after what was submitted before. The future raises StateError if it fails."""
        future: Future[Answer] = Future()
        self._works.put((work, future))
        return future

    def run(self, work: Work[Answer]) -> Answer:
        """Do work, and return once it is on the disk.

        Raises:
            StateError: It failed, or the folder does not answer in time; then the work is still done once it does.
        """
        if self._late is not None and not self._late.done():
            raise StateError(_NO_ANSWER)
        future = self.submit(work)
        try:
            return future.result(self._patience)
        except TimeoutError:
            self._late = future
            self._fail(_NO_ANSWER)
            raise StateError(_NO_ANSWER) from None

    def close(self) -> None:
        """Do what was submitted, for a limited time, and let other sidecars in."""
        self._works.put(None)
        self._thread.join(self._patience)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _fail(self, reason: str) -> None:
        if not self._failing:
            log.warning("cannot keep the state in %s: %s", self.path.parent, reason)
        self._failing = True

    def _write(self) -> None:
        """The thread: one work after the other."""
        while (item := self._works.get()) is not None:
            work, future = item
            try:
                connection = self._opened()
                with connection:
                    answer = work(connection)
            except (OSError, sqlite3.Error) as error:
                self._close()  # the next work begins with a check of the file
                self._fail(_reason(error))
                future.set_exception(StateError(_reason(error)))
            except BaseException as error:  # noqa: BLE001 - a bug, which its caller has to see
                future.set_exception(error)
            else:
                if self._failing:
                    log.info("the state is kept in %s again", self.path.parent)
                self._failing = False
                future.set_result(answer)
        self._close()

    def _opened(self) -> sqlite3.Connection:
        """The connection to the file, which is made if there is none. Raises OSError and sqlite3.Error."""
        if self._connection is not None and self.path.exists():  # it may have been deleted
            return self._connection
        self._close()
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self._connection = _writable(self.path)
        except sqlite3.OperationalError:  # a full disk, for example, is no damage
            raise
        except (FileExistsError, sqlite3.DatabaseError) as damage:
            aside = self._set_aside(damage)
            self._connection = _writable(self.path)
            _salvage(aside, self._connection)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def _set_aside(self, damage: Exception) -> Path:
        aside = self.path.with_name(f"{self.path.name}.damaged")
        log.warning("%s is set aside as %s, and what can be read is kept: %s", self.path, aside.name, _reason(damage))
        for suffix in ("", "-wal", "-shm"):
            target = Path(f"{aside}{suffix}")
            target.unlink(missing_ok=True)  # the log of an earlier one would be taken for this one's
            with contextlib.suppress(FileNotFoundError):
                Path(f"{self.path}{suffix}").rename(target)
        self.damaged += 1
        return aside

    def _locked(self) -> int | None:
        """The descriptor of the lock, which the kernel releases when the process ends, however it ends."""
        path = self.path.with_suffix(".lock")
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            log.warning("cannot lock %s, so another sidecar may use it too: %s", path.parent, error.strerror)
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with os.fdopen(descriptor, "rb") as file:
                note = file.read(200).decode("ascii", "replace")
            holder = f" ({note})" if note.startswith("process ") and note.isprintable() else ""
            raise InUse(
                f"{path.parent} is in use for {self._address} by another sidecar{holder}: "
                "end that one, or name another --state-dir"
            ) from None
        except OSError as error:
            log.warning("%s has no locks, so another sidecar may use it too: %s", path.parent, error.strerror)
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the note
            os.truncate(descriptor, 0)
            os.write(descriptor, f"process {os.getpid()} on {os.uname().nodename}".encode())
        return descriptor


def _writable(path: Path) -> sqlite3.Connection:
    """Open a file to write to it; it is made if there is none.

    Raises:
        FileExistsError: Something else lies in its place.
        sqlite3.DatabaseError: It is damaged, or of another version.
        OSError, sqlite3.OperationalError: The folder does not let it be opened.
    """
    _refuse_others(path)
    with contextlib.suppress(FileExistsError):  # SQLite would let others read it
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    connection = _connected(path, "rw")
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA temp_store = MEMORY")  # the container's other folders cannot be written
        if not _tables(connection):
            with connection:
                for table in _TABLES.values():
                    connection.execute(table)
        _check(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=PATIENCE)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _check(connection: sqlite3.Connection) -> None:
    """Refuse a file that is damaged, or has other tables, views or triggers. Raises sqlite3.DatabaseError."""
    if _tables(connection) != set(_TABLES.values()):
        raise sqlite3.DatabaseError("it is no state of this version of innodb-advisor")
    [check] = connection.execute("PRAGMA quick_check(1)").fetchone()
    if check != "ok":
        raise sqlite3.DatabaseError(check)


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema") if sql is not None}


def _refuse_others(path: Path) -> None:
    """Refuse what no sidecar writes, such as a link or a pipe. Raises FileExistsError."""
    for name in (f"{path}", f"{path}-wal", f"{path}-shm"):
        with contextlib.suppress(FileNotFoundError):
            status = os.lstat(name)
            if not stat.S_ISREG(status.st_mode):
                raise FileExistsError(f"{name} is no regular file")
            if status.st_size > LARGEST_BYTES:
                raise FileExistsError(f"{name} has more than {LARGEST_BYTES >> 20} MiB")


def _salvage(damaged: Path, connection: sqlite3.Connection) -> None:
    """Copy the rows that can be read, from both ends of each table up to its damage."""
    with contextlib.suppress(OSError, sqlite3.Error):
        _refuse_others(damaged)
        with contextlib.closing(_connected(damaged, "ro")) as source, connection:
            if _tables(source) == set(_TABLES.values()):
                for table, order in itertools.product(_TABLES, ("ASC", "DESC")):
                    _copy(source, connection, table, order)


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, table: str, order: str) -> None:
    with contextlib.suppress(sqlite3.Error):
        for row in source.execute(f"SELECT * FROM {table} ORDER BY rowid {order}"):
            target.execute(f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
