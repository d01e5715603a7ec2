"""Rules from keys, and the command line as a process of its own."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from advisor.cli.main import main
from advisor.rules import check
from tests.advisor.building import RECORDING, REPOSITORY, capture, plain_rule
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import Sidecar, command, environment, write_unlike
from tests.waiting import wait_for

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Spawn = Callable[..., "subprocess.Popen[str]"]
Serve = Callable[..., Sidecar]


@pytest.fixture
def make_rule(tmp_path: Path) -> Callable[..., check.Rule]:
    """A rule with these keys over those of a plain one, through a file as any other."""

    def make(**keys: Any) -> check.Rule:
        content = plain_rule(**keys)
        path = tmp_path / f"{content['id']}.yaml"
        with path.open("w") as file:
            YAML().dump(dict(content), file)
        return check.load_file(path)

    return make


@contextmanager
def logging_as_it_begins() -> Iterator[None]:
    """The log without a handler, as a process has it at first; afterwards with those of pytest again."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    root.handlers = []
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(level)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command to its end, in this process."""

    def run_it(
        *arguments: object, env: Mapping[str, str] | None = None, cwd: Path = REPOSITORY
    ) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patch, logging_as_it_begins():
            patch.chdir(cwd)
            words = [str(argument) for argument in arguments]
            result = CliRunner(env=env).invoke(main, words)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return subprocess.CompletedProcess(
            [str(argument) for argument in arguments], result.exit_code, result.stdout, result.stderr
        )

    return run_it


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start the command; it is ended with the test."""
    with ExitStack() as stack:

        def spawn_it(
            *arguments: object, env: Mapping[str, str] | None = None, stdout: int | IO[str] = subprocess.PIPE
        ) -> subprocess.Popen[str]:
            process = stack.enter_context(
                subprocess.Popen(  # noqa: S603
                    command(*arguments),
                    cwd=REPOSITORY,
                    env=environment(env),
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            return process

        yield spawn_it


@pytest.fixture(scope="session")
def replaying() -> Iterator[InProcess]:
    """A sidecar that replays RECORDING, and has judged it by every rule."""
    with InProcess("--recording", capture(RECORDING)) as sidecar:
        sidecar.settle()
        yield sidecar


@pytest.fixture(scope="session")
def unlike(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """One whose rules end in every way there is."""
    rules = write_unlike(tmp_path_factory.mktemp("unlike") / "rules")
    with InProcess("--recording", capture(RECORDING), "--rules", rules, "--suppress", "unwanted") as sidecar:
        wait_for(sidecar.judged)
        yield sidecar


@pytest.fixture
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start the sidecar, and wait until it listens; it is killed with the test."""
    with ExitStack() as stack:

        def serve_it(*arguments: object, env: Mapping[str, str] | None = None) -> Sidecar:
            sidecar = Sidecar(tmp_path_factory.mktemp("sidecar"), *arguments, env=env)
            stack.callback(sidecar.kill)
            return sidecar

        yield serve_it
