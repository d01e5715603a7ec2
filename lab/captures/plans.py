"""Golden files of plans: the changes of findings on captured servers, for those who own the settings, in markdown."""

from __future__ import annotations

import math
from pathlib import Path
from typing import get_args

from advisor.advice import evaluation
from advisor.contract.plan import TargetName
from advisor.observe.window import Window
from advisor.plan.plan import plan
from advisor.plan.targets.target import PlanRefused
from advisor.render import plan as documents
from advisor.render.markdown import markdown
from lab.captures import GOLDEN, Capture, history
from lab.harness.watch import rules

TARGETS: tuple[TargetName, ...] = get_args(TargetName)
PLANNED = (
    Capture("mysql-9.7", "change-buffer-off"),
    Capture("mysql-9.7", "index-builds"),
    Capture("mariadb-10.11", "write-pressure"),
    Capture("mariadb-11.8", "batches"),
)


def path(capture: Capture) -> Path:
    """Its golden file."""
    return GOLDEN / capture.server / f"{capture.scenario}.plans.md"


def written(capture: Capture) -> str:
    """The plans of its findings for every owner, and the refusals."""
    window = Window.of(history(capture), math.inf)
    findings = evaluation.advise([rule.with_budget(math.inf) for rule in rules()], window).recommendations
    parts: list[str] = []
    for finding in findings:
        for target in TARGETS:
            try:
                parts.append(markdown(documents.plan(plan(finding, window, target, beside=findings))))
            except PlanRefused as refusal:
                parts.append(f"# No plan for {target}\n\n{finding.rule}, {finding.fingerprint}: {refusal}\n")
    return "\n".join(parts)


def write() -> None:
    """Write all of them, and remove the others."""
    for capture in PLANNED:
        path(capture).write_text(written(capture))
    for other in {*GOLDEN.glob("*/*.plans.md")} - {*map(path, PLANNED)}:
        other.unlink()
