"""helm, built once with Go, for the chart's tests and snippets.

It needs no cluster: `helm template` and `helm lint` take the Kubernetes version as an argument.
`python -m tools.helm version` builds helm if needed; any other command of helm works as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.packages import go
from lab.packages.cache import UnavailableHere

VERSION = "v3.22.0"
MODULE = "helm.sh/helm/v3/cmd/helm"
RUN_SECONDS = 300


class HelmFailed(Exception):
    """helm ended with an error; the text is its output."""


def program() -> Path:
    """The path of helm; the first call builds it in a few minutes.

    Raises:
        UnavailableHere: There is no Go, or the modules are unavailable.
    """
    return go.installed("helm", VERSION, MODULE) / "helm"


def run(*arguments: str, values: Mapping[str, Any] | None = None) -> str:
    """Helm's output.

    Args:
        arguments: Its command line.
        values: Passed as a file with `--values`.

    Raises:
        UnavailableHere: helm is unavailable here.
        HelmFailed: It ended with an error.
    """
    helm = program()
    with tempfile.TemporaryDirectory(prefix="helm-") as folder:
        # The output must not depend on the user's cluster or helm's own folders.
        own = {f"HELM_{name}_HOME": f"{folder}/{name}" for name in ("CACHE", "CONFIG", "DATA")}
        others = {name: value for name, value in os.environ.items() if not name.startswith(("HELM_", "KUBECONFIG"))}
        more = []
        if values is not None:
            path = Path(folder) / "values.json"
            path.write_text(json.dumps(values), encoding="utf-8")
            more = ["--values", str(path)]
        done = subprocess.run(
            [str(helm), *arguments, *more],
            env={**others, **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=False,
        )
    if done.returncode:
        raise HelmFailed(done.stderr.strip() or done.stdout.strip())
    return done.stdout


if __name__ == "__main__":
    try:
        print(run(*sys.argv[1:]), end="")
    except (UnavailableHere, HelmFailed) as error:
        sys.exit(str(error))
