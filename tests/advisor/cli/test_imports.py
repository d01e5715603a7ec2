"""Each command imports what it needs, and not what others need."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from advisor.cli import lazy
from advisor.cli.advise import advise
from advisor.cli.lazy import load
from advisor.cli.main import main
from advisor.contract.recommendation import Severity
from tests.advisor.building import RECORDING, REPOSITORY, capture
from tests.advisor.conftest import Run
from tests.advisor.sidecar import Sidecar

Serve = Callable[..., Sidecar]
TOLD = {"PYTHONPROFILEIMPORTTIME": "1"}
"""Python then says on standard error what it imports."""
HTTP = {"fastapi", "starlette", "uvicorn"}
SERVER = {"aiomysql", "pymysql", "cryptography"}
HEAVY = {*HTTP, *SERVER, "prometheus_client", "pydantic", "ruamel", "cel_expr_python", "rich", "matplotlib"}
"""What takes a tenth of a second or a megabyte, and is not needed by all."""
CURVED = capture("mysql-9.7/change-buffer-off-resident")
SCENARIO = REPOSITORY / "lab/scenarios/seed-002-steps.yaml"


def imported(log: str) -> set[str]:
    """The heavy ones of the packages in what Python said."""
    return set(re.findall(r"^import time:.*\| +(\w+)", log, re.MULTILINE)) & HEAVY


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
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
        (["grade", "", "--format", "json"], {*SERVER, "pydantic", "ruamel", "cel_expr_python", "rich"}),
        (["advise", "--recording", "", "--format", "json"], {*SERVER, "pydantic", "ruamel", "cel_expr_python"}),
    ],
    ids=lambda each: " ".join(Path(str(part)).name for part in each) if isinstance(each, list) else "",
)
def test_a_command_imports_no_more_than_it_needs(run: Run, arguments: list[object], needed: set[str]) -> None:
    given = [capture(RECORDING) if each == "" else each for each in arguments]
    ended = run(*given, env=TOLD)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert imported(ended.stderr) <= needed


def test_serve_imports_nothing_that_is_for_terminals_pictures_or_fleets(serve: Serve) -> None:
    sidecar = serve("--recording", capture(RECORDING), env=TOLD)
    for path in ("/", "/metrics", "/advise", "/rules", "/openapi.json"):
        assert sidecar.get(path).status_code == 200
    found = imported(sidecar.log())
    assert found >= HTTP
    assert not found & {"rich", "matplotlib"}
    assert re.findall(r"^import time:.*\| +(advisor\S*fleet\S*)", sidecar.log(), re.MULTILINE) == []


def test_the_code_of_the_models_is_imported_once_and_by_whoever_asks_a_model(serve: Serve) -> None:
    quiet = serve("--recording", capture("mysql-9.7/warm-pool"), env=TOLD)
    assert quiet.get("/advise").status_code == 200
    assert "advisor.models.lru.simulation" not in quiet.log()
    sidecar = serve("--recording", capture(RECORDING), env=TOLD)
    assert sidecar.get("/advise").json()["recommendations"]  # of a rule that asks
    for path in ("/curve", "/curve?window=5m"):
        sidecar.get(path)
    log = sidecar.log()
    for module in ("advisor.models.lru.simulation", "advisor.whatif.calibration", "advisor.curve.explain"):
        assert len(re.findall(rf"^import time:.*\| +{module}$", log, re.MULTILINE)) == 1, module


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
