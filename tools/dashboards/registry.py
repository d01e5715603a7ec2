"""All dashboards, and the files generated from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lab.reports.markdown import table
from tools import generated
from tools.dashboards import advice, change_buffer, lru, parallel
from tools.dashboards.board import Board, panels

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "charts" / "innodb-advisor" / "dashboards"
PAGE = ROOT / "docs" / "dashboards.md"
BOARDS = (lru.BOARD, change_buffer.BOARD, parallel.BOARD, advice.BOARD)
_PART = re.compile(r"(<!-- (innodb-advisor-[a-z-]+): made by tools/dashboards -->\n).*?(<!-- end -->)", re.DOTALL)


def documents() -> dict[Path, str]:
    """The generated files, whole or in parts, with their expected content."""
    files = {_file(board): board.json() for board in BOARDS}
    tables = {board.uid: _table(json.loads(board.json())) for board in BOARDS}
    page = PAGE.read_text(encoding="utf-8")
    files[PAGE] = _PART.sub(lambda part: part[1] + tables[part[2]] + part[3], page)
    return files


def stale() -> list[Path]:
    """Files that are out of date, or whose dashboard is gone."""
    return generated.stale(documents(), FOLDER)


def write() -> None:
    """Bring all files up to date."""
    generated.write(documents(), FOLDER)


def models() -> dict[str, dict[str, Any]]:
    """The chart's JSON models, by uid."""
    models = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json")))
    return {model["uid"]: model for model in models}


def _file(board: Board) -> Path:
    return FOLDER / f"{board.uid.removeprefix('innodb-advisor-')}.json"


def _table(model: Mapping[str, Any]) -> str:
    return table(("panel", "what it shows and what to look for"), _lines(model))


def _lines(model: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for panel in panels(model):
        yield panel["title"], panel["description"]
