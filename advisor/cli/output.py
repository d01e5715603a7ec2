"""What commands print, and how they end: texts in which everything shows, files for -o, exit codes, a progress bar."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from advisor.contract.visible import json_of, visible_json, visible_lines

if TYPE_CHECKING:  # --help needs no pydantic
    from pydantic import BaseModel

    from advisor.render.blocks import TextDocument

    Answer = TypeVar("Answer", bound=BaseModel)

FINDINGS, UNUSABLE, OPEN, UNDECIDED, INTERRUPTED = 1, 2, 3, 4, 130
_EXIT_CODES = """

\b
Exit codes:
  0    done
  1    advise, fleet, grade, history: --fail-on applies; check: a source cannot be read; rules test: a case failed;
       receipt: the promise was missed, or the change did harm
  2    the input cannot be used; the message says why
  3    receipt: the outcome is open, or no change was seen yet
  4    receipt: nothing can be said
  130  interrupted
"""


class Unusable(click.ClickException):
    """Input that cannot be used: one clear message, and exit code 2."""

    exit_code = UNUSABLE


def epilog(*examples: str) -> str:
    """The end of a command's help: examples and exit codes, with marks that keep click from rewrapping the lines."""
    lines = "\n".join(f"  innodb-advisor {example}" for example in examples)
    return f"\b\nExamples:\n{lines}\n{_EXIT_CODES}"


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print lines for people, without anything that a terminal obeys."""
    click.echo(visible_lines(text), err=err, nl=nl)


def model_json(model: BaseModel, **options: Any) -> str:
    """The JSON of a model, indented; with these options of model_dump_json."""
    return json_of(model, indent=2, by_alias=True, **options) + "\n"


def say_json(value: object) -> None:
    """Print JSON in which everything shows."""
    click.echo(visible_json(json.dumps(value, indent=2, ensure_ascii=False)))


def writable(output: Path | None) -> None:
    """Refuse a file without a directory before any work is done.

    Raises:
        Unusable: The directory is missing.
    """
    if output is not None and not output.parent.is_dir():
        raise Unusable(f"cannot write {output}: there is no directory {output.parent}")


def put(content: str | TextDocument, output: Path | None = None, style: str = "text") -> None:
    """Print a text or a document, or write it to a file, which stays as it was until the new one is whole.

    Args:
        content: The text or the document.
        output: The file; None for standard output.
        style: Of a document: text or markdown.

    Raises:
        Unusable: The file cannot be written.
    """
    if output is None:
        _print(content, style)
        return
    from exporter import files

    try:
        with files.replacing(output) as part:
            part.write_text(_rendered(content, style), encoding="utf-8", errors="replace")
    except OSError as error:
        raise Unusable(f"cannot write {output}: {error.strerror}") from error


def put_answer(
    answer: Answer, style: str, document: Callable[[Answer], TextDocument], output: Path | None = None
) -> None:
    """Print an answer, or write it to a file: as JSON, or as its document in this style of ``put``. Raises as that."""
    put(model_json(answer) if style == "json" else document(answer), output, style)


def _print(content: str | TextDocument, style: str) -> None:
    if isinstance(content, str):
        click.echo(content, nl=False)  # JSON is UTF-8 whatever the terminal shows
    elif style == "text" and sys.stdout.isatty():
        from advisor.render import text

        text.show(content)
    else:
        print(_rendered(content, style), end="", flush=True)


def _rendered(content: str | TextDocument, style: str) -> str:
    if isinstance(content, str):
        return content
    if style == "markdown":
        from advisor.render.markdown import markdown

        return visible_lines(markdown(content))
    from advisor.render import text

    return text.text(content)


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
