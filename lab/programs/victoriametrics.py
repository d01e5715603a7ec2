"""VictoriaMetrics from Debian's package, a single node: a Prometheus API that is no Prometheus."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from lab.packages import debian
from lab.processes.ports import HOST, free_port
from lab.processes.program import PLAIN, ChildProcess

SUITE, PACKAGE, PROGRAM = "bookworm", "victoria-metrics", "usr/bin/victoria-metrics"
IMPORT_SECONDS = 60.0
_LISTENING = re.compile(r"starting http server at http://127\.0\.0\.1:(\d+)/")


@dataclass(frozen=True, slots=True)
class VictoriaMetrics:
    """A running VictoriaMetrics: its URL, without a trailing slash, and its process."""

    url: str
    pid: int

    def load(self, text: str) -> None:
        """Take samples in the text format, with timestamps in milliseconds, and show them at once."""
        for path, content in (("api/v1/import/prometheus", text), ("internal/force_flush", "")):
            httpx.post(f"{self.url}/{path}", content=content, timeout=IMPORT_SECONDS, **PLAIN).raise_for_status()
        # Its cache of answers does not know that older samples came.
        httpx.get(f"{self.url}/internal/resetRollupResultCache", timeout=IMPORT_SECONDS, **PLAIN).raise_for_status()


def command() -> list[str]:
    """The command line, to be followed by its flags."""
    return debian.program(SUITE, PACKAGE, PROGRAM)


@contextlib.contextmanager
def running(folder: Path, flags: Sequence[str] = ()) -> Iterator[VictoriaMetrics]:
    """Start it without data on a port of the loopback address, and stop it at the end.

    Args:
        folder: For its log.
        flags: Further ones, such as `-search.maxUniqueTimeseries=10`.
    """
    with tempfile.TemporaryDirectory(prefix="victoria-metrics-") as data:
        arguments = [
            f"-httpListenAddr={HOST}:{free_port()}",
            f"-storageDataPath={data}",
            "-retentionPeriod=1",  # months
            "-memory.allowedBytes=256MB",
            *flags,
        ]
        log = folder / "victoria-metrics.log"
        with ChildProcess("VictoriaMetrics", [*command(), *arguments], log=log, listening=_LISTENING) as process:
            yield VictoriaMetrics(f"http://{HOST}:{process.port}", process.pid)
