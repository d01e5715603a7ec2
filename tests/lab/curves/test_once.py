"""The job that reads everything once is judged by recordings."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.curves import once

CAPTURES = Path(__file__).parents[2] / "captures"


def judged(capture: str, folder: Path) -> dict[str, object]:
    shutil.copy(CAPTURES / capture / "recording.jsonl.gz", folder / "once.jsonl.gz")
    return dict(once.judge(folder))


def test_advice_to_grow_is_counted(tmp_path: Path) -> None:
    found = judged("mysql-9.7/hot-set-exceeds-pool", tmp_path)
    assert (found["judged"], found["grown"], found["blind"]) == (5, 4, 0)


def test_a_rule_that_cannot_judge_is_counted_too(tmp_path: Path) -> None:
    found = judged("mysql-9.7/unprivileged", tmp_path)
    assert (found["judged"], found["grown"], found["blind"]) == (0, 0, 5)
    assert "PROCESS" in str(found["unanswerable"])
