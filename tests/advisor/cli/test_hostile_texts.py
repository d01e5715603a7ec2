"""What the command line and the log quote does nothing to the terminal that shows it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from click.testing import CliRunner

from advisor.cli import logs
from advisor.cli.main import main
from advisor.contract.visible import visible
from tests.hostile_names import NAMES, raw

ODD = "\x1b]0;title\x07\u202eto.jsonl"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_record_is_one_line_that_shows(name: str) -> None:
    message = logs.formatter().format(
        logging.makeLogRecord({"msg": "the server says %s", "args": (name,), "name": name})
    )
    assert not raw(message, "")
    assert visible(name) in message


def test_no_line_of_a_traceback_looks_like_a_record() -> None:
    try:
        raise ValueError("x\n2026-01-01 00:00:00,000 INFO innodb-advisor: all is well\x1b[2J")
    except ValueError as error:
        record = logging.makeLogRecord({"msg": "it failed", "exc_info": (type(error), error, error.__traceback__)})
    first, *others = logs.formatter().format(record).split("\n")
    assert first.endswith("it failed")
    assert all(line.startswith("  ") for line in others)
    assert not raw("".join(others))


@pytest.mark.parametrize(
    "arguments",
    [
        ["advise", "--recording", ODD],
        ["advise", "--dsn", f"mysql://a@127.0.0.1:1/{ODD}"],
        ["rules", "show", ODD],
        ["rules", "test", ODD],
        ["lru", ODD],
        [ODD],
        ["advise", f"--{ODD}"],
        ["curve", "--recording", ODD, "-o", f"{ODD}/x"],
    ],
    ids=ascii,
)
def test_an_error_shows_what_it_quotes(arguments: list[str]) -> None:
    ended = CliRunner().invoke(main, arguments)
    assert ended.exit_code == 2
    assert not raw(ended.output)


def test_a_rule_of_others_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    from tests.advisor.sidecar import write_rule  # noqa: PLC0415 - one of these tests needs it

    title = "[red]odd[/nothing] [link=http://example.com]x[/link] :warning: \x1b]0;x\x07\u202e"
    path = write_rule(tmp_path, id="odd", title=title, why="[bank](http://example.com) \x1b[2J\n")
    for arguments in (["list"], ["show", "odd"], ["show", "odd", "--format", "markdown"], ["list", "--json"]):
        ended = CliRunner().invoke(main, ["rules", *arguments, "--rules", str(path.parent)])
        assert ended.exit_code == 0, ended.output
        assert not raw(ended.output)
        assert "[red]odd[/nothing]" in ended.output.replace("\\", "")
    shown = CliRunner().invoke(main, ["rules", "show", "odd", "--rules", str(path.parent)]).output
    assert "http://example.com" in shown
