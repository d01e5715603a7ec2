"""What the sidecar holds in memory: little, and no more the longer it runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor import memory
from tests.advisor.building import RECORDING, REPOSITORY, capture
from tests.advisor.sidecar import Sidecar, environment

Serve = Callable[..., Sidecar]
MOST = 60 * 2**10  # KiB
"""Of the 64 MiB that a container gives it (tests/image): what is no file's can't be taken back. Code that Python has
compiled is most of it: some 840 modules take 43 MiB before the first rule is read."""
WITHOUT_ALERTMANAGER = 50 * 2**10  # KiB
"""The same of a sidecar that sends no alerts, once everything was asked: 48.2 MiB were measured, idle 46.8."""
OF_RELEASE = 128  # KiB
"""That it takes to read the process's mappings, where no heap is free to return; 24 to 48 were measured."""
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""As it is installed: what Python compiles at each start leaves holes in its memory."""

_LOADING = """
import json, sys
from pathlib import Path
from advisor import memory
from advisor.advice import evaluation
from advisor.observe.window import Window
from advisor.rules import check
from exporter.recording.file import replay

def resident():
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if words[0] in ("RssAnon:", "RssFile:")}

def judged():
    return evaluation.advise(rules, Window(tuple(replay(Path(sys.argv[2]))))).model_dump_json()

before = resident()
rules = check.load(Path(sys.argv[1]))
advice = judged()
loaded = resident()
memory.release()
given = resident()
alike = judged() == advice
print(json.dumps({"before": before, "loaded": loaded, "given": given, "alike": alike, "after": resident()}))
"""


@pytest.fixture(scope="module")
def loading() -> dict[str, dict[str, int]]:
    """Resident memory, KiB: before rules are loaded, then, after what is not needed was given back, and after work."""
    ended = subprocess.run(  # noqa: S603
        [sys.executable, "-c", _LOADING, REPOSITORY / "rules", capture(RECORDING)],
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return dict(json.loads(ended.stdout))


def held(pid: int) -> int:
    """Resident memory that is no file's, KiB."""
    found = re.search(r"^RssAnon:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1])


def test_all_rules_share_one_environment(loading: dict[str, dict[str, int]]) -> None:
    grown = loading["loaded"]["RssAnon:"] - loading["before"]["RssAnon:"]
    assert grown < 10 * 2**10  # some seventy environments took twice as much


def test_pages_of_libraries_that_only_the_start_needed_are_given_back_and_all_works_on(
    loading: dict[str, dict[str, int]],
) -> None:
    assert loading["given"]["RssFile:"] < loading["loaded"]["RssFile:"] / 2
    assert loading["alike"]
    assert loading["after"]["RssFile:"] < loading["loaded"]["RssFile:"]
    assert loading["given"]["RssAnon:"] <= loading["loaded"]["RssAnon:"] + OF_RELEASE


def test_a_sidecar_that_is_asked_for_everything_stays_small(serve: Serve) -> None:
    sidecar = serve("--recording", capture(RECORDING), env=COMPILED)
    paths = ("/", "/metrics", "/advise", "/rules", "/rules/blind-spot", "/snapshot", "/healthz", "/readyz")
    readings = []
    for _ in range(6):
        for path in paths * 5:
            assert sidecar.get(path).status_code == 200
        readings.append(held(sidecar.process.pid))
    assert readings[-1] <= WITHOUT_ALERTMANAGER
    assert readings[-1] - readings[2] <= 2**10


SMAPS = """\
{where} {permissions} 00001000 08:01 {inode}                      {path}
Size:                 16 kB
Rss:                   8 kB
Anonymous:             {changed} kB
VmFlags: rd ex mr mw me
"""
LIBRARY = {"where": "7f0000001000-7f0000005000", "permissions": "r-xp", "inode": 42, "path": "/l/a.so.1", "changed": 0}


@pytest.mark.parametrize(
    "but",
    [
        {"permissions": "rw-p"},
        {"permissions": "r-xs"},
        {"inode": 0, "path": ""},
        {"path": "[vdso]", "inode": 0},
        {"path": "/usr/lib/locale/C.utf8/LC_CTYPE"},
        {"path": "/usr/bin/python3.11"},
        {"changed": 4},
    ],
    ids=str,
)
def test_only_what_can_be_read_again_from_a_library_is_given_back(but: dict[str, object]) -> None:
    alone = SMAPS.format(**LIBRARY)
    assert list(memory.unchanged(alone)) == [(0x7F0000001000, 0x7F0000005000)]
    assert list(memory.unchanged(SMAPS.format(**{**LIBRARY, **but}))) == []
    assert list(memory.unchanged(alone + SMAPS.format(**{**LIBRARY, **but}))) == [(0x7F0000001000, 0x7F0000005000)]
