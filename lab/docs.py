"""The parts of the documentation that are made from the code: `python -m lab.docs` writes them anew."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from advisor import engine, rule, text
from advisor import metrics as advisor_metrics
from advisor.source import Replayed
from advisor.window import Window
from exporter import specs

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
CAPTURE = ROOT / "tests/captures/mysql-9.7/repeated-scan/recording.jsonl.gz"
_METRICS = re.compile(r"(<!-- metrics: [^\n]*-->\n).*?(<!-- end -->)", re.DOTALL)
_ADVICE = re.compile(r"(<!-- advice: [^\n]*-->\n).*?(<!-- end -->)", re.DOTALL)


def metrics_table() -> str:
    """A markdown table of every metric."""
    lines = ["| metric | labels | kind | what it is |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{spec.name}` | {', '.join(f'`{label}`' for label in spec.labels)} | {spec.kind} | {spec.help} |"
        for spec in (*specs.SPECS.values(), *advisor_metrics.SPECS.values())
    ]
    return "\n".join(lines) + "\n"


def advice() -> str:
    """What `innodb-advisor advise` prints for the capture of a repeated scan, as a block of text."""
    output = io.StringIO()
    window = Window.of(Replayed(CAPTURE).history, float("inf"))
    text.print_advice(
        Console(file=output, width=110, highlight=False), engine.advise(rule.load(ROOT / "rules"), window)
    )
    lines = [line.rstrip() for line in output.getvalue().splitlines()]
    return "```\n" + "\n".join(lines) + "\n```\n"


def readme(source: str) -> str:
    """The README with its table of metrics and its recommendation as the code makes them."""
    source = _METRICS.sub(lambda match: match[1] + metrics_table() + match[2], source)
    return _ADVICE.sub(lambda match: match[1] + advice() + match[2], source)


if __name__ == "__main__":
    README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")
