"""The parts of the documentation that are made from the code: `python -m lab.docs` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path

from advisor import metrics as advisor_metrics
from exporter import specs

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
_MARKED = re.compile(r"(<!-- metrics: [^\n]*-->\n).*?(<!-- end -->)", re.DOTALL)


def metrics_table() -> str:
    """A markdown table of every metric."""
    lines = ["| metric | labels | kind | what it is |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{spec.name}` | {', '.join(f'`{label}`' for label in spec.labels)} | {spec.kind} | {spec.help} |"
        for spec in (*specs.SPECS.values(), *advisor_metrics.SPECS.values())
    ]
    return "\n".join(lines) + "\n"


def readme(text: str) -> str:
    """The README with its table of metrics as the code has it."""
    return _MARKED.sub(lambda match: match[1] + metrics_table() + match[2], text)


if __name__ == "__main__":
    README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")
