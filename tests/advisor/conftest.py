"""Rules from keys, and the command line as a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from advisor.rules import check
from tests.advisor.building import RECORDING, REPOSITORY, capture, plain_rule
from tests.advisor.sidecar import Sidecar, command, environment, wait_for, write_unlike

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


@pytest.fixture
def run() -> Run:
    """Run the command to its end."""

    def run_it(
        *arguments: object, env: Mapping[str, str] | None = None, cwd: Path = REPOSITORY
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603
            command(*arguments), cwd=cwd, env=environment(env), capture_output=True, text=True, check=False, timeout=60
        )

    return run_it


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start the command; it is ended with the test."""
    with ExitStack() as stack:

        def spawn_it(*arguments: object, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
            process = stack.enter_context(
                subprocess.Popen(  # noqa: S603
                    command(*arguments),
                    cwd=REPOSITORY,
                    env=environment(env),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(process.kill)
            return process

        yield spawn_it


@pytest.fixture(scope="module")
def replaying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """A sidecar that replays RECORDING, and has judged it by every rule."""
    sidecar = Sidecar(tmp_path_factory.mktemp("sidecar"), "--recording", capture(RECORDING))
    wait_for(sidecar.judged)
    yield sidecar
    sidecar.kill()


@pytest.fixture(scope="module")
def unlike(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """One whose rules end in every way there is."""
    folder = tmp_path_factory.mktemp("sidecar")
    rules = write_unlike(folder / "rules")
    sidecar = Sidecar(folder, "--recording", capture(RECORDING), "--rules", rules, "--suppress", "unwanted")
    yield sidecar
    sidecar.kill()


@pytest.fixture
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start the sidecar, and wait until it listens; it is killed with the test."""
    with ExitStack() as stack:

        def serve_it(*arguments: object, env: Mapping[str, str] | None = None) -> Sidecar:
            sidecar = Sidecar(tmp_path_factory.mktemp("sidecar"), *arguments, env=env)
            stack.callback(sidecar.kill)
            return sidecar

        yield serve_it
