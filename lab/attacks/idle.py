"""Nobody attacks: what the scrape and the probes take on this machine, for comparison."""

from __future__ import annotations

from collections.abc import Iterator

from lab.attacks import probe
from lab.attacks.attack import Attack, Line, Stage
from lab.processes.usage import anonymous_mib

SECONDS, SHORT_SECONDS = 30.0, 5.0
MOST_MIB = 48.0
"""Anonymous memory of a sidecar that nobody asks for a model."""


def _run(stage: Stage) -> Iterator[Line]:
    with stage.sidecar() as sidecar:
        found = probe.idle(sidecar, SHORT_SECONDS if stage.short else SECONDS)
        for path in probe.PATHS:
            failed = sum(count for kind, count in found.failures.items() if kind.startswith(f"{path}:"))
            yield Line(f"p99 of {path}", "answered", f"{found.p99(path):.0f} ms", not failed)
        mib = anonymous_mib(sidecar.pid)
        yield Line("anonymous memory", f"≤ {MOST_MIB:g} MiB", f"{mib:.1f} MiB", mib <= MOST_MIB)


ATTACKS = (Attack("idle", "nothing: the scrape and the probes beside the load alone", _run, (40.0, 10.0)),)
