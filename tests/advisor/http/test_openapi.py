"""schemathesis asks a sidecar all that its OpenAPI document allows, and much that it does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.servers import Server
from tests.advisor.building import RECORDING, capture
from tests.advisor.sidecar import Sidecar, environment, wait_for

Serve = Callable[..., Sidecar]

# A server that is away is a 503 that the document has; no other 5xx is.
CHECKS = """\
[checks.not_a_server_error]
expected-statuses = ["2XX", "4XX", 503]
"""
MOST_SECONDS = 240.0  # for what takes 12 on a quiet machine
# What the document allows may still be refused: which rules there are, and which settings, is known to the sidecar.
LEFT_OUT = "positive_data_acceptance"


def ask_all(sidecar: Sidecar, folder: Path) -> None:
    """Fails with schemathesis' own report, in which every failure has a curl command that shows it again."""
    (folder / "schemathesis.toml").write_text(CHECKS)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"]
    options = {
        "--phases": "examples,coverage,fuzzing",
        "--seed": "1",
        "--max-examples": "40",
        "--exclude-checks": LEFT_OUT,
        "--generation-database": "none",
    }
    done = subprocess.run(  # noqa: S603
        [*command, f"{sidecar.url}/openapi.json", *(each for option in options.items() for each in option)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    operations = sum(map(len, sidecar.get("/openapi.json").json()["paths"].values()))
    assert f"Tested: {operations}\n" in done.stdout
    assert sidecar.get("/healthz").status_code == 200
    assert "Traceback" not in sidecar.log()


def test_a_recording_is_shown_as_the_document_says_whatever_is_asked(serve: Serve, tmp_path: Path) -> None:
    ask_all(serve("--recording", capture(RECORDING)), tmp_path)


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_server_is_shown_as_the_document_says_whatever_is_asked(server: Server, serve: Serve, tmp_path: Path) -> None:
    sidecar = serve("--dsn", server.dsn, "--interval", "1s")
    wait_for(lambda: sidecar.get("/readyz").status_code == 200)
    ask_all(sidecar, tmp_path)
