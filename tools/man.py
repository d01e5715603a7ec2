"""The man page, docs/man/innodb-advisor.1, made from the commands' own help; `python -m tools.docs` writes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from advisor.cli.main import main as program
from exporter import __version__

NAME = "innodb-advisor"
_UNWRAPPED = "\b"  # click's mark of a paragraph whose lines stay as they are
_ABOUT = "metrics and advice on InnoDB settings for MySQL and MariaDB"
_SEE_ALSO = (
    "The pages of docs/ in the source of this version: command-line.md, configuration.md, security.md, versioning.md. "
    "Completion for a shell: docs/command-line.md."
)


def page() -> str:
    """The page as roff."""
    context = click.Context(program, info_name=NAME, **program.context_settings)
    lines = [
        f'.TH {NAME.upper()} 1 "" "{NAME} {__version__}" "User Commands"',
        *(".SH NAME", rf"{_text(NAME)} \- {_ABOUT}"),
        *(".SH SYNOPSIS", rf"\fB{_text(NAME)}\fR COMMAND [OPTIONS]"),
        *(".SH DESCRIPTION", *_paragraphs(program.help)),
        *(".SH OPTIONS", *_options(program, context)),
        *(".SH COMMANDS", *_commands(program, context)),
        *(".SH EXAMPLES", *_paragraphs(program.epilog)),
        *(".SH SEE ALSO", _text(_SEE_ALSO)),
    ]
    return "\n".join(lines) + "\n"


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None  # noqa: S101 - the group lists it
        below = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _commands(command, below)
            continue
        yield f".SS {_text(' '.join([below.command_path, *command.collect_usage_pieces(below)]))}"
        yield from _paragraphs(command.help)
        yield from _options(command, below)
        examples, _, _ = (command.epilog or "").partition("\n\n")  # exit codes are the same for all
        yield from _paragraphs(examples)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    # Not command.get_params: click keeps the help option of a command's first context, whose names may be others.
    help_option = click.Option(context.help_option_names, is_flag=True, help="Show this message and exit.")
    for parameter in (*command.params, help_option):
        if (record := parameter.get_help_record(context)) is not None:
            spelling, help_text = record
            yield from (".TP", rf"\fB{_text(spelling)}\fR", _text(help_text))


def _paragraphs(help_text: str | None) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(help_text or "").strip("\n")):
        if paragraph.startswith(_UNWRAPPED):
            title, *lines = paragraph.removeprefix(_UNWRAPPED).strip("\n").splitlines()
            yield from (".PP", _text(title), ".nf", *map(_text, lines), ".fi")
        elif paragraph.strip():
            yield from (".PP", _text(" ".join(paragraph.split())))


def _text(text: str) -> str:
    """Text that roff shows as it is: a hyphen that can be copied, no escapes, no line that is a request."""
    for character, escape in (("\\", r"\e"), ("-", r"\-"), ("…", "..."), ("'", r"\(aq"), ("`", r"\(ga")):
        text = text.replace(character, escape)
    return rf"\&{text}" if text.startswith(".") else text
