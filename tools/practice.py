"""The recording to practise on, docs/practice/shop.jsonl.gz: a capture, with what became of the change in it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from advisor.advice.replay import Replaying
from advisor.ledger.ledger import Ledger
from advisor.ledger.recorded import ledger_lines
from advisor.observe.source import Replay
from advisor.rules.rulebook import Rulebook, builtin_ids
from lab.harness.watch import RULES_FOLDER

ROOT = Path(__file__).parent.parent
PRACTICE = ROOT / "docs" / "practice" / "shop.jsonl.gz"
CAPTURE = ROOT / "tests" / "captures" / "mysql-9.7" / "old-sublist-spoiled" / "recording.jsonl.gz"
"""Half-way a setting is changed, and the change does harm; another finding stands."""
_WINDOW_SECONDS = 5.0
"""That the change is measured over: the capture has 37 s on each side of it."""


def content(capture: Path = CAPTURE) -> str:
    """The recording's lines: those of a capture, and the ledger of a sidecar that had watched."""
    replaying = Replaying(Rulebook(RULES_FOLDER).rule_set, Ledger(window_seconds=_WINDOW_SECONDS))
    for _ in replaying.replay(Replay(capture).history):
        pass
    *lines, end = read(capture).splitlines(keepends=True)
    before = json.loads(end)["end"]
    added = ({"ledger": ledger_lines(replaying.ledger, builtin_ids())}, {"end": before + 1})
    return "".join((*lines, *(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in added)))


def read(recording: Path) -> str:
    """The lines of a recording."""
    return gzip.decompress(recording.read_bytes()).decode()


def write() -> None:
    """Write it anew where its lines are others."""
    text = content()
    if not PRACTICE.is_file() or read(PRACTICE) != text:
        PRACTICE.parent.mkdir(parents=True, exist_ok=True)
        PRACTICE.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
