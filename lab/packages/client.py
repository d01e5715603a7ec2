"""The run of a package client or build tool: npm, go, pip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lab.packages.cache import UnavailableHere
from lab.processes.program import ChildProcess, ProgramFailed


def run(
    what: str,
    command: Sequence[str],
    folder: Path,
    *,
    seconds: float,
    environment: Mapping[str, str] = MappingProxyType({}),
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Run a client to its end.

    Args:
        what: The wanted package, for errors.
        command: Its absolute path and its arguments.
        folder: The working folder.
        seconds: The time limit.
        environment: Variables besides those of this process.
        tell: Receives the output so far, again and again.

    Raises:
        UnavailableHere: It failed or exceeded the limit; the text ends with its last line of output.
    """
    with ChildProcess(Path(command[0]).name, command, environment, folder=folder) as program:
        try:
            program.finish(seconds, tell)
        except ProgramFailed as error:
            lines = str(error).splitlines()
            raise UnavailableHere(f"{what}: {lines[0]} {lines[-1]}" if lines[1:] else f"{what}: {lines[0]}") from None
