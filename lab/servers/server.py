"""A running server, from its start to the removal of its files."""

import atexit
import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import IO, Any, Self

import pymysql

from lab.processes.ports import HOST, free_port
from lab.processes.program import ChildProcess, ProgramFailed
from lab.servers import datadirs, programs
from lab.servers.datadirs import StartError
from lab.servers.programs import ServerProgram

START_SECONDS = 90.0
STOP_SECONDS = 60.0

# Fast and small. Settings that the advisor judges stay at the server's own defaults.
DEFAULTS = {
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "0",
    "innodb-buffer-pool-dump-at-shutdown": "OFF",
    "innodb-buffer-pool-load-at-startup": "OFF",
    "sync-binlog": "0",
    "skip-log-bin": "",
    "loose-mysqlx": "OFF",  # from 8.0 on it would take a port of its own
}

_ENTER = ("/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"')
NO_OPTIONS: Mapping[str, str] = MappingProxyType({})
FOLDER_PREFIX = "innodb-advisor-"


class _Connection(pymysql.Connection):
    """Waits at its end until its last statement is counted: performance_schema does so after the answer."""

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None:
            with contextlib.suppress(pymysql.Error):  # the server may be gone
                self.ping(reconnect=False)
        super().__exit__(*raised)


class PrivateServer:
    """A running server; a context manager that stops it.

    Attributes:
        name: Flavour and series, one of `NAMES`.
        host: Always 127.0.0.1.
        port: Its TCP port.
        socket: Its Unix socket.
        datadir: Its data folder, which holds its error log too (`error.log`).
        pid: Its process.
        version: From SELECT VERSION().
        options: Its options, including the lab's defaults.
        group: The folder of the cgroup that its process is in from its next start on; None for this process's own.
    """

    def __init__(
        self, program: ServerProgram, options: Mapping[str, str], datadir: Path | None, origin: Path | None = None
    ) -> None:
        self.name = program.name
        self.host = HOST
        self.port = 0
        self.pid = 0
        self.version = ""
        self.options = dict(options)
        self.group: Path | None = None
        self._program = program
        self._origin = origin
        self._owner = os.getpid()
        self._process: ChildProcess | None = None
        self._folder, self._lock = _claim_folder()
        self.datadir = (datadir or self._folder / "data").resolve()
        self.socket = self._folder / "sock"
        self.error_log = self.datadir / "error.log"

    @property
    def dsn(self) -> str:
        """Its address for the advisor's --dsn."""
        return f"mysql://root@{self.host}:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def connect(self, **arguments: Any) -> "pymysql.Connection[Any]":
        """A connection as root, in autocommit mode, over TCP, without TLS; at its end all it did is counted.

        For TLS pymysql would read this machine's certificates for each connection, which takes 35 ms of CPU.

        Args:
            arguments: Further arguments of `pymysql.connect`; they win over the defaults. With `ssl` there is TLS.

        Raises:
            pymysql.err.OperationalError: The server does not answer.
        """
        defaults = {"user": "root", "autocommit": True, "ssl_disabled": not arguments.get("ssl")}
        return _Connection(**{"host": self.host, "port": self.port, **defaults, **arguments})

    def running(self) -> bool:
        """Whether its process is alive."""
        return self._process is not None and not self._process.ended()

    def wait(self) -> int:
        """Wait until its process ends; return the exit status."""
        if self._process is None:
            return 0
        self._process.ended(None)
        return self._process.status or 0

    def restart(self, options: Mapping[str, str] = NO_OPTIONS) -> None:
        """Stop it and start it again on the same data and port, with these options added.

        Raises:
            StartError: It did not start again.
        """
        self._end()
        self.options |= _dashed(options)
        self._start(self.port)

    def kill(self) -> None:
        """Kill its process (SIGKILL), as in a crash; `restart` brings it back, `stop` cleans up."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """End its process and remove its files, except a data folder that was passed to `start`."""
        if self._owner != os.getpid():
            return  # a copy of this object in a forked process does not own the server
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._lock.close()
        _started.discard(self)

    def _end(self) -> None:
        if self._process is not None:
            self._process.stop(STOP_SECONDS)

    def _start(self, port: int | None = None) -> None:
        """Start the process and wait until it answers; without a port, on a free one."""
        if not (self.datadir / "mysql").is_dir():
            datadirs.create(self._program, self.options, self.datadir, self._origin)
        for _attempt in range(5):
            self.port = port or free_port()
            began = len(self.log())
            entered = () if self.group is None else (*_ENTER, str(self.group))
            command = [*entered, *self._program.command, *self._arguments()]
            self._process = ChildProcess(self.name, command, self._program.environment, log=self.error_log)
            self._process.start()
            self.pid = self._process.pid
            try:
                self._process.wait_until(self._answers, START_SECONDS)
            except ProgramFailed:
                self._process.kill()
            else:
                return
            # Another process may have taken the port before the server did.
            output = self.log()[began:]
            if port is not None or "in use" not in output:
                break
        raise StartError(f"{self.name} did not start; the end of its error log:\n{output[-4000:]}")

    def _arguments(self) -> list[str]:
        return [
            *datadirs.placement(self._program, self.datadir),
            *datadirs.flags(self.options),
            f"--bind-address={HOST}",
            f"--port={self.port}",
            f"--socket={self.socket}",
            f"--pid-file={self._folder / 'pid'}",
            f"--log-error={self.error_log}",
            f"--tmpdir={self._folder}",
        ]

    def _answers(self) -> bool:
        """Whether it answers: another server may own the port."""
        try:
            with self.connect(connect_timeout=5) as connection, connection.cursor() as cursor:
                cursor.execute("SELECT VERSION(), @@datadir")
                rows = cursor.fetchall()
        except pymysql.err.Error:
            return False
        self.version, datadir = rows[0]
        return Path(datadir).resolve() == self.datadir

    def log(self) -> str:
        """Its error log so far."""
        return self.error_log.read_text(errors="replace") if self.error_log.is_file() else ""


def start(
    name: str, options: Mapping[str, str] = NO_OPTIONS, datadir: Path | None = None, *, origin: Path | None = None
) -> PrivateServer:
    """Start a server with a fresh data folder and wait until it answers.

    Args:
        name: One of `NAMES` or `OWN`, or `ANY_MYSQL`.
        options: The server's options without leading dashes; an empty value means none. They win over `DEFAULTS`.
        datadir: A data folder to use and to keep; set up when absent or empty. None for a temporary one.
        origin: The data folder of a server of this name that was shut down, to set up a copy of; None for one without
            data.

    Raises:
        UnavailableHere: The server is unavailable here; the text says why.
        StartError: The server did not start.
    """
    program = programs.find(name)
    server = PrivateServer(program, DEFAULTS | _dashed(options), datadir, origin)
    _started.add(server)
    try:
        server._start()  # noqa: SLF001 - the only place that creates servers
    except BaseException:
        server.stop()
        raise
    return server


def _dashed(options: Mapping[str, str]) -> dict[str, str]:
    """Options by their names with dashes."""
    return {name.replace("_", "-"): value for name, value in options.items()}


def _claim_folder() -> tuple[Path, IO[str]]:
    """A temporary folder, and the open file whose lock marks it as in use; removes the folders of ended processes."""
    parent = Path(tempfile.gettempdir())
    for lock in parent.glob(f"{FOLDER_PREFIX}*/lock"):
        # A living process holds its lock. A killed process took its servers with it.
        with contextlib.suppress(OSError), lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent)
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=parent))
    unlocked = folder / "unlocked"
    file_held = unlocked.open("w")
    fcntl.flock(file_held, fcntl.LOCK_EX)
    unlocked.rename(folder / "lock")  # visible to others only when locked
    return folder, file_held


_started: set[PrivateServer] = set()


@atexit.register
def stop_all() -> None:
    """Stop every server that this process started."""
    for server in list(_started):
        server.stop()


def interrupt_on_signals() -> None:
    """Make SIGTERM and SIGHUP act like Ctrl-C, so that the servers' folders are removed then, too."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
        signal.signal(signal.SIGHUP, signal.default_int_handler)
