"""The recording of a capture, from the start of its server to its files."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from ruamel.yaml import YAML

from exporter.recording.file import replay
from lab import servers
from lab.captures import Capture, redaction
from lab.captures.scenarios import CATALOG
from lab.captures.scenarios.base import CaptureRejected, CaptureScenario, Numbers, Step
from lab.harness.watch import SidecarSampler
from lab.servers import PrivateServer


def record(capture: Capture, say: Callable[[str], None] = print) -> Numbers:
    """Record a capture and its note; return the key numbers.

    The old files stay unless the new capture shows its scenario and names nothing of this machine.

    Args:
        capture: The capture.
        say: Takes a message about a failed attempt that another one follows.

    Raises:
        UnavailableHere: The server is unavailable here.
        StartError: The server did not start.
        CaptureRejected: The capture does not show its scenario.
        Leak: The capture names something of this machine.
    """
    scenario = CATALOG[capture]
    for attempt in range(1, scenario.attempts + 1):
        try:
            return _attempt(capture, scenario, attempt)
        except CaptureRejected as error:
            if attempt == scenario.attempts:
                raise
            say(f"attempt {attempt}: {error}")
    raise AssertionError("a scenario has at least one attempt")


def _attempt(capture: Capture, scenario: CaptureScenario, attempt: int) -> Numbers:
    if scenario.options is None:
        raise servers.UnavailableHere("this capture was recorded elsewhere")
    with TemporaryDirectory() as folder:
        recording = Path(folder) / capture.recording.name
        with servers.start(capture.server, scenario.options) as server:
            began = datetime.now(UTC)
            with scenario.work(server) as step:
                _watch(server, scenario, step, recording)
            version, options = server.version, server.options
        shown = scenario.check(list(replay(recording)))
        redaction.check(recording)
        capture.recording.parent.mkdir(parents=True, exist_ok=True)
        capture.recording.write_bytes(recording.read_bytes())
    note = {
        "server": capture.server,
        "version": version,
        "options": dict(options),
        "account": scenario.user,
        "workload": " ".join((scenario.work.__doc__ or "").split()),
        "collections": scenario.collections,
        "seconds_apart": scenario.period,
        "captured": began.isoformat(timespec="seconds"),
        "command": f"python -m lab.captures {capture}",
        "attempts": attempt,
        "rewritten": redaction.REWRITTEN,
        "shows": shown,
    }
    with capture.note.open("w", encoding="utf-8") as file:
        YAML().dump(note, file)
    return shown


def _watch(server: PrivateServer, scenario: CaptureScenario, step: Step, recording: Path) -> None:
    with (
        redaction.RedactedRecorder(recording, server) as recorder,
        SidecarSampler(server, scenario.user, keep=recorder) as sampler,
    ):
        sampler.collect()
        for _ in range(scenario.collections - 1):
            began = time.monotonic()
            step()
            time.sleep(max(0.0, scenario.period - (time.monotonic() - began)))
            sampler.collect()
