"""Rules are loaded without the simulator."""

from __future__ import annotations

import json
import subprocess
import sys

_LOADED = """
import json, sys
from advisor.rules import check
from advisor.rules.rulebook import builtin_directory
assert check.load(builtin_directory())
print(json.dumps(sorted(name for name in sys.modules if name.startswith("advisor."))))
"""


def test_loading_rules_imports_no_simulator() -> None:
    done = subprocess.run(  # noqa: S603 - a constant
        [sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True
    )
    loaded = json.loads(done.stdout)
    assert "advisor.rules.check" in loaded
    assert [name for name in loaded if name.startswith(("advisor.models.lru", "advisor.whatif"))] == []
