"""-o: the output as a file."""

from __future__ import annotations

from pathlib import Path

from advisor.cli.exits import Unusable


def writable(output: Path | None) -> None:
    """Refuse a file without a directory before any work is done.

    Raises:
        Unusable: There is no such directory.
    """
    if output is not None and not output.parent.is_dir():
        raise Unusable(f"cannot write {output}: there is no directory {output.parent}")


def replace(output: Path, text: str) -> None:
    """Write the file, which stays as it was until the new one is whole.

    Raises:
        Unusable: It cannot be written.
    """
    new = output.with_name(f".{output.name}.new")
    write(new, text)
    try:
        new.replace(output)
    except OSError as error:
        raise Unusable(f"cannot write {output}: {error.strerror}") from error


def write(output: Path, text: str) -> None:
    """Write the file.

    Raises:
        Unusable: It cannot be written.
    """
    try:
        output.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise Unusable(f"cannot write {output}: {error.strerror}") from error
