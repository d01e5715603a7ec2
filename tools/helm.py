"""helm, built once with Go, for the chart's tests and snippets.

It needs no cluster: `helm template` and `helm lint` take the Kubernetes version as an argument.
`python -m tools.helm version` builds helm if needed; any other command of helm works as well.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.packages import go
from lab.packages.cache import UnavailableHere
from tools import command
from tools.command import BuildFailed

VERSION = "v3.22.0"
MODULE = "helm.sh/helm/v3/cmd/helm"


def program() -> Path:
    """The path of helm; the first call builds it in a few minutes."""
    return go.installed("helm", VERSION, MODULE) / "helm"


def run(*arguments: str, values: Mapping[str, Any] | None = None) -> str:
    """Helm's output.

    Args:
        arguments: Its command line.
        values: Passed as a file with `--values`.
    """
    with tempfile.TemporaryDirectory(prefix="helm-") as folder:
        # The output must not depend on helm's own folders.
        own = {f"HELM_{name}_HOME": f"{folder}/{name}" for name in ("CACHE", "CONFIG", "DATA")}
        more = []
        if values is not None:
            path = Path(folder) / "values.json"
            path.write_text(json.dumps(values), encoding="utf-8")
            more = ["--values", str(path)]
        return command.run(program(), *arguments, *more, what=f"helm {arguments[0]}", environment=own)


if __name__ == "__main__":
    try:
        print(run(*sys.argv[1:]), end="")
    except (UnavailableHere, BuildFailed) as error:
        sys.exit(str(error))
