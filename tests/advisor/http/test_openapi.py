"""schemathesis sends a sidecar valid and invalid requests after its OpenAPI document."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.servers import PrivateServer
from tests.advisor.building import RECORDING, capture
from tests.advisor.http.listening import listening
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import environment
from tests.waiting import DEADLINE, wait_for

# The document has 503 for a server that is down, and no other 5xx.
CHECKS = """\
[checks.not_a_server_error]
expected-statuses = ["2XX", "4XX", 503]
"""
# The sidecar may reject requests that the document allows: it knows the existing rules and settings.
LEFT_OUT = "positive_data_acceptance"


def ask_all(sidecar: InProcess, folder: Path, phases: str) -> None:
    """Fail with schemathesis' report, which has a curl command to repeat each failure."""
    (folder / "schemathesis.toml").write_text(CHECKS)
    (folder / "openapi.json").write_text(sidecar.get("/openapi.json").text)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"]
    options = {
        "--phases": phases,
        "--seed": "1",
        "--max-examples": "40",
        "--exclude-checks": LEFT_OUT,
        "--generation-database": "none",
        "--request-timeout": str(DEADLINE),
    }
    with sidecar.portal.wrap_async_context_manager(listening(sidecar.guarded)) as listener:
        options["--url"] = f"http://127.0.0.1:{listener.port}"
        done = subprocess.run(  # noqa: S603
            [*command, "openapi.json", *(word for option in options.items() for word in option)],
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    paths = sidecar.get("/openapi.json").json()["paths"]
    assert f"Tested: {sum(len(methods) for methods in paths.values())}\n" in done.stdout
    assert sidecar.get("/healthz").status_code == 200
    assert "Traceback" not in sidecar.log()


def test_responses_on_a_recording_match_the_document(compose: Callable[..., InProcess], tmp_path: Path) -> None:
    ask_all(compose("--recording", capture(RECORDING)), tmp_path, "examples,coverage")


@pytest.mark.thorough
@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_responses_on_a_server_match_the_document(
    server: PrivateServer, compose: Callable[..., InProcess], tmp_path: Path
) -> None:
    sidecar = compose("--dsn", server.dsn, "--interval", "1s")
    wait_for(lambda: sidecar.get("/readyz").status_code == 200)
    ask_all(sidecar, tmp_path, "examples,coverage,fuzzing")
