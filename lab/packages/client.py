"""The run of a package client or build tool: apt-get, npm, go, pip, debootstrap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lab.packages.cache import UnavailableHere
from lab.processes.program import ChildProcess, ProgramFailed

_ERRORS = ("E:", "dpkg-deb: error", "tar:")


def run(
    what: str,
    command: Sequence[str],
    *,
    seconds: float,
    folder: Path | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Run a client to its end.

    Args:
        what: The wanted package, for errors.
        command: Its absolute path and its arguments.
        seconds: The time limit.
        folder: The working folder; None for this process's.
        environment: Variables besides those of this process.
        progress: Receives the output so far, again and again.

    Raises:
        UnavailableHere: It failed or exceeded the limit; the text ends with its lines of errors, or its last line.
    """
    with ChildProcess(Path(command[0]).name, command, environment, folder=folder) as process:
        try:
            process.finish(seconds, progress)
        except ProgramFailed as error:
            first, *output = str(error).splitlines()
            # apt's lines name the mirror: fine on a terminal, where they say what failed.
            reasons = [line for line in output if line.startswith(_ERRORS)] or output[-1:]
            raise UnavailableHere(f"{what}: {first} {'; '.join(reasons)}".rstrip()) from None
