"""The run of a program that builds or checks: helm, a builder of images, the tools of a release."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

SECONDS = 600.0
_OUTPUT_CHARACTERS = 3000
_NOT_INHERITED = ("PYTHONPATH", "HELM_", "KUBECONFIG")
"""Beginnings of variables of the user's own session, which would change what is built."""


class BuildFailed(Exception):
    """Something cannot be built, or is not as it must be; the text says what and why."""


def run(
    *command: object,
    what: str,
    environment: Mapping[str, str] = MappingProxyType({}),
    folder: Path | None = None,
    seconds: float | None = SECONDS,
    visible: bool = False,
) -> str:
    """The standard output of a program.

    Args:
        command: The command line.
        what: What it does, for errors.
        environment: Variables besides those of this process.
        folder: The working folder; None for this process's.
        seconds: The time limit.
        visible: Whether its output goes to the standard error at once, instead of being returned.

    Raises:
        BuildFailed: It failed, or took longer; the text ends with its output, unless that was visible.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
    try:
        completed = subprocess.run(
            [str(part) for part in command],
            check=False,
            cwd=folder,
            env={**inherited, **environment},
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr if visible else subprocess.PIPE,
            stderr=None if visible else subprocess.PIPE,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise BuildFailed(f"{what}: no end in {seconds:.0f} s") from None
    if completed.returncode:
        output = (
            "see its output above" if visible else f"{completed.stdout}{completed.stderr}"[-_OUTPUT_CHARACTERS:].strip()
        )
        raise BuildFailed(f"{what}: {output or f'ended with status {completed.returncode}'}")
    return completed.stdout or ""
