"""Golden files of forecasts: what upgrades of captured servers would do, as text."""

from __future__ import annotations

import math
from pathlib import Path

from advisor.advice import evaluation
from advisor.observe.window import Window
from advisor.render import text
from advisor.render import upgrade as documents
from advisor.upgrade.forecast import forecast
from lab.captures import GOLDEN, Capture, history
from lab.harness.watch import rules

UPGRADES = (
    (Capture("mysql-5.6", "seed-001-counts"), "8.0.28"),
    (Capture("mysql-5.6", "change-buffer-merges"), "9.7"),
    (Capture("mysql-5.7", "change-buffer-merges"), "8.4"),
    (Capture("mysql-8.0", "change-buffer-merges"), "8.4"),
    (Capture("mysql-8.0", "counted-beside-index"), "9.7"),
    (Capture("mysql-8.0", "index-build"), "8.4"),
    (Capture("mysql-8.0", "write-pressure"), "8.4"),
    (Capture("mysql-9.7", "repeated-scan"), "26.10"),
    (Capture("mariadb-10.5", "repeated-scan"), "10.11"),
    (Capture("mariadb-10.11", "change-buffer-merges"), "11.8"),
)


def path(capture: Capture, to: str) -> Path:
    """Its golden file."""
    return GOLDEN / capture.server / f"{capture.scenario}.to-{to}.txt"


def written(capture: Capture, to: str) -> str:
    """The forecast as text."""
    window = Window.of(history(capture), math.inf)
    patient = [rule.with_budget(math.inf) for rule in rules()]
    findings = evaluation.advise(patient, window).recommendations
    return text.text(documents.forecast(forecast(window, to, findings=findings, rules=patient)))


def write() -> None:
    """Write all of them, and remove the others."""
    for capture, to in UPGRADES:
        path(capture, to).parent.mkdir(parents=True, exist_ok=True)
        path(capture, to).write_text(written(capture, to))
    for other in {*GOLDEN.glob("*/*.txt")} - {path(*upgrade) for upgrade in UPGRADES}:
        other.unlink()
