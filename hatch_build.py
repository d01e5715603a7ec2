"""The build's hook: the wheel gets the OpenAPI document, which the sidecar then need not make in its own memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Description(BuildHookInterface):  # type: ignore[type-arg]
    """Writes advisor/http/openapi.json into the wheel, where the program's dependencies can be imported.

    A build environment without them makes a wheel without it: the sidecar makes it when it is first asked for.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the file, but not for an editable installation: there the code changes."""
        if self.target_name != "wheel" or version == "editable":
            return
        made = subprocess.run(
            [sys.executable, "-m", "advisor.http.app"],
            cwd=self.root,  # its own code, not one that is installed
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            check=False,
            capture_output=True,
        )
        if made.returncode:
            reason = made.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            self.app.display_warning(f"the wheel has no openapi.json, which takes the program's dependencies: {reason}")
            return
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / "openapi.json"
        path.write_bytes(made.stdout)
        build_data["force_include"][str(path)] = "advisor/http/openapi.json"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what is in the wheel now."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
