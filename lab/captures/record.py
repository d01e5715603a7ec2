"""The recording of a capture, from the start of its server to its files."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ruamel.yaml import YAML

from exporter.recording.file import replay
from lab.captures import Capture, golden, redaction
from lab.captures.scenarios import CATALOG
from lab.captures.scenarios.base import CaptureScenario, Numbers, Step
from lab.harness.campaign import Study
from lab.harness.records import Entries, Part, Say
from lab.harness.watch import SidecarSampler
from lab.servers import PrivateServer


def study(captures: Iterable[Capture]) -> Study:
    """The recording of captures, and then of the golden files."""
    parts = [
        Part("captures", str(capture), capture.server, CATALOG[capture].options, partial(record, capture))
        for capture in captures
    ]
    return Study(parts, lines=_lines, finish=_with_golden_files)


def _lines(entries: Entries) -> Iterator[str]:
    for name, entry in entries.items():
        yield f"{name:44} {', '.join(f'{number} {value}' for number, value in entry['data'].items())}"


def _with_golden_files(entries: Entries) -> Entries:
    golden.write()
    return entries


def record(capture: Capture, server: PrivateServer, _: Say) -> Numbers:
    """Record a capture and its note; return the key numbers.

    The old files stay unless the new capture shows its scenario and names nothing of this machine.

    Raises:
        NotShown: The capture does not show its scenario, or names something of this machine.
    """
    scenario = CATALOG[capture]
    with TemporaryDirectory() as folder:
        recording = Path(folder) / capture.recording.name
        began = datetime.now(UTC)
        with scenario.work(server) as step:
            _watch(server, scenario, step, recording)
        shown = scenario.check(list(replay(recording)))
        redaction.check(recording)
        capture.recording.parent.mkdir(parents=True, exist_ok=True)
        capture.recording.write_bytes(recording.read_bytes())
    note = {
        "server": capture.server,
        "version": server.version,
        "options": dict(server.options),
        "account": scenario.user,
        "workload": " ".join((scenario.work.__doc__ or "").split()),
        "collections": scenario.collections,
        "seconds_apart": scenario.period,
        "captured": began.isoformat(timespec="seconds"),
        "command": f"python -m lab.captures {capture}",
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
