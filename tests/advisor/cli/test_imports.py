"""Each command imports what it needs, and not what others need."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

import click

from advisor.cli.advise import advise
from advisor.contract.recommendation import Severity
from tests.advisor.building import RECORDING, REPOSITORY, capture
from tests.advisor.sidecar import environment

HTTP = {"fastapi", "starlette", "uvicorn"}
SERVER = {"aiomysql", "pymysql", "cryptography"}
HEAVY = {*HTTP, *SERVER, "mcp", "pydantic", "ruamel", "cel_expr_python", "rich", "matplotlib"}
"""What takes a tenth of a second, and is not needed by all."""
SCAN = capture(RECORDING)
CURVED = capture("mysql-9.7/change-buffer-off-resident")
SCENARIO = REPOSITORY / "lab/scenarios/seed-002-steps.yaml"


NEEDED: Sequence[tuple[list[object], set[str]]] = [
    (["--version"], set()),
    (["--help"], set()),
    (["serve", "--help"], set()),
    (["fleet", "--help"], set()),
    (["mcp", "--help"], set()),
    (["rules", "list", "--json"], {"pydantic", "ruamel", "cel_expr_python"}),
    (["rules", "list"], {"pydantic", "ruamel", "cel_expr_python", "rich"}),
    (["lru", SCENARIO, "--json"], {"pydantic", "ruamel"}),
    (["lru", SCENARIO], {"pydantic", "ruamel", "rich"}),
    (["curve", "--help"], set()),
    (["curve", "--recording", CURVED, "--format", "json"], {*SERVER, "pydantic", "ruamel"}),
    (["curve", "--recording", CURVED, "--format", "svg"], {*SERVER, "pydantic", "ruamel"}),
    (["grade", "--help"], set()),
    (
        ["grade", SCAN, "--format", "json"],
        {*SERVER, "pydantic", "ruamel", "cel_expr_python", "rich"},
    ),
    (
        ["advise", "--recording", SCAN, "--format", "json"],
        {*SERVER, "pydantic", "ruamel", "cel_expr_python"},
    ),
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
    assert "advisor.rules.check" in modules["rules list --json"]


def test_the_severities_of_fail_on_are_those_of_advice() -> None:
    [option] = [parameter for parameter in advise.params if parameter.name == "fail_on"]
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == [severity.value for severity in Severity]
