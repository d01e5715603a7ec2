"""Each command imports what it needs, and not what others need."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from advisor.cli import lazy
from advisor.cli.advise import advise
from advisor.cli.lazy import load
from advisor.cli.main import main
from advisor.contract.recommendation import Severity
from tests.advisor.building import RECORDING, REPOSITORY, capture
from tests.advisor.conftest import Serve
from tests.advisor.sidecar import environment

TOLD = {"PYTHONPROFILEIMPORTTIME": "1"}
"""Python then says on standard error what it imports."""
HTTP = {"fastapi", "starlette", "uvicorn"}
SERVER = {"aiomysql", "pymysql", "cryptography"}
HEAVY = {*HTTP, *SERVER, "prometheus_client", "pydantic", "ruamel", "cel_expr_python", "rich", "matplotlib"}
"""What takes a tenth of a second or a megabyte, and is not needed by all."""
SCAN = capture(RECORDING)
CURVED = capture("mysql-9.7/change-buffer-off-resident")
SCENARIO = REPOSITORY / "lab/scenarios/seed-002-steps.yaml"


def imported(log: str) -> set[str]:
    """The heavy ones of the packages in what Python said."""
    return set(re.findall(r"^import time:.*\| +(\w+)", log, re.MULTILINE)) & HEAVY


NEEDED: Sequence[tuple[list[object], set[str]]] = [
    (["--version"], set()),
    (["--help"], set()),
    (["serve", "--help"], set()),
    (["fleet", "--help"], set()),
    (["rules", "list", "--json"], {"pydantic", "ruamel", "cel_expr_python"}),
    (["rules", "list"], {"pydantic", "ruamel", "cel_expr_python", "rich"}),
    (["lru", SCENARIO, "--json"], {"pydantic", "ruamel"}),
    (["lru", SCENARIO], {"pydantic", "ruamel", "rich"}),
    (["curve", "--help"], set()),
    (["curve", "--recording", CURVED, "--format", "json"], {*SERVER, "pydantic", "ruamel"}),
    (["curve", "--recording", CURVED, "--format", "svg"], {*SERVER, "pydantic", "ruamel"}),
    (["grade", "--help"], set()),
    (["grade", SCAN, "--format", "json"], {*SERVER, "pydantic", "ruamel", "cel_expr_python", "rich"}),
    (["advise", "--recording", SCAN, "--format", "json"], {*SERVER, "pydantic", "ruamel", "cel_expr_python"}),
]
"""What each command may import of HEAVY."""


def test_a_command_imports_no_more_than_it_needs() -> None:
    commands = [[str(argument) for argument in arguments] for arguments, _ in NEEDED]
    done = subprocess.run(
        [sys.executable, "-m", "tests.advisor.cli.imports"],
        input=json.dumps(commands),
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    modules = {" ".join(command): set(names) for command, names in zip(commands, json.loads(done.stdout), strict=True)}
    for (command, names), (_, needed) in zip(modules.items(), NEEDED, strict=True):
        assert HEAVY & names <= needed, command
    listing = modules["rules list --json"]
    assert "advisor.rules.check" in listing
    assert not {name for name in listing if name.startswith("advisor.models.lru")}


def test_serve_imports_nothing_for_terminals_pictures_or_fleets_and_models_once_when_they_are_asked(
    serve: Serve,
) -> None:
    sidecar = serve("--recording", capture("mysql-9.7/warm-pool"), env=TOLD)
    for path in ("/", "/metrics", "/advise", "/rules", "/openapi.json"):
        assert sidecar.get(path).status_code == 200
    heavy = imported(sidecar.log())
    assert heavy >= HTTP
    assert not heavy & {"rich", "matplotlib"}
    assert re.findall(r"^import time:.*\| +(advisor\S*fleet\S*)", sidecar.log(), re.MULTILINE) == []
    assert "advisor.models.lru.simulation" not in sidecar.log()
    for path in ("/whatif?set=innodb_old_blocks_pct%3D50", "/curve", "/curve?window=5m"):
        sidecar.get(path)
    for module in ("advisor.models.lru.simulation", "advisor.pool.evidence", "advisor.pool.load"):
        assert len(re.findall(rf"^import time:.*\| +{module}$", sidecar.log(), re.MULTILINE)) == 1, module


def test_the_severities_of_fail_on_are_those_of_advice() -> None:
    [option] = [each for each in advise.params if each.name == "fail_on"]
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == [each.value for each in Severity]


def leaves(group: click.Group) -> Iterator[click.Command]:
    for name in group.commands:
        found = group.commands[name]
        if isinstance(found, click.Group):
            yield from leaves(found)
        else:
            yield found


@pytest.mark.parametrize("command", [*leaves(main)], ids=lambda each: each.name)
def test_the_options_of_a_command_are_the_parameters_of_its_action(
    monkeypatch: pytest.MonkeyPatch, command: click.Command
) -> None:
    monkeypatch.setattr(lazy, "load", lambda path: inspect.signature(load(path)).bind)
    # click keeps a command's help option as its first context names it.
    context = command.make_context(
        command.name, [], parent=click.Context(main, **main.context_settings), resilient_parsing=True
    )
    options = context.params
    source = {"recording": Path("recording.jsonl")} if "recording" in options else {"dsn": "mysql://root@127.0.0.1"}
    given = {**source, "recordings": (), "urls": ()}
    assert command.callback
    assert command.callback(**options | {name: value for name, value in given.items() if name in options})
