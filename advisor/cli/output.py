"""What commands print: text and JSON in which everything shows, a file for -o, and a progress bar."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import BaseModel

from advisor.cli.exits import Unusable
from advisor.contract.json_text import json_of
from advisor.contract.visible import visible_json, visible_lines

if TYPE_CHECKING:
    from advisor.render.blocks import TextDocument


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print lines for people, without anything that a terminal obeys."""
    click.echo(visible_lines(text), err=err, nl=nl)


def say_document(document: TextDocument, style: str = "text") -> None:
    """Print a document as ``text`` or ``markdown``."""
    if style == "markdown":
        from advisor.render.markdown import markdown

        say(markdown(document), nl=False)
    else:
        from advisor.render import text

        text.show(document)


def say_json(value: BaseModel | object, **options: Any) -> None:
    """Print JSON in which everything shows; a model with these options of model_dump_json."""
    if isinstance(value, BaseModel):
        click.echo(json_of(value, indent=2, **options))
    else:
        click.echo(visible_json(json.dumps(value, indent=2, ensure_ascii=False)))


def writable(output: Path | None) -> None:
    """Refuse a file without a directory before any work is done.

    Raises:
        Unusable: There is no such directory.
    """
    if output is not None and not output.parent.is_dir():
        raise Unusable(f"cannot write {output}: there is no directory {output.parent}")


def put(content: str | TextDocument, output: Path | None) -> None:
    """Print a text or a document, or write it to a file, which stays as it was until the new one is whole.

    Raises:
        Unusable: The file cannot be written.
    """
    from exporter import files

    if not isinstance(content, str):
        from advisor.render import text

        if output is None and sys.stdout.isatty():
            text.show(content)
            return
        content = text.text(content)
    if output is None:
        click.echo(content, nl=False)
        return
    try:
        with files.replacing(output) as part:
            part.write_text(content, encoding="utf-8", errors="replace")
    except OSError as error:
        raise Unusable(f"cannot write {output}: {error.strerror}") from error


@contextlib.contextmanager
def progress_bar(word: str, seconds: float) -> Iterator[Callable[[float], None]]:
    """A bar that begins with ``word``, on standard error where that is a terminal; takes the seconds that are over."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(word), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with bar:
        task = bar.add_task(word, total=seconds)
        yield lambda elapsed: bar.update(task, completed=elapsed)
