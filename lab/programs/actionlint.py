"""actionlint, built once with Go, which finds errors in a GitHub workflow."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.packages import go

VERSION = "v1.7.12"
_PACKAGE = "github.com/rhysd/actionlint/cmd/actionlint"


def program() -> Path:
    """Its path; the first call builds it."""
    return go.installed("actionlint", VERSION, _PACKAGE) / "actionlint"


def check(path: Path) -> str:
    """Its complaints about a workflow, one line each; empty if there are none."""
    # Without shellcheck and pyflakes: whether a machine has them must not decide.
    command = [str(program()), "-oneline", "-no-color", "-shellcheck=", "-pyflakes=", str(path)]
    completed = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    return completed.stdout + completed.stderr
