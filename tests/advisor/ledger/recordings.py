"""Recordings that carry a ledger."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from advisor.ledger.ledger import Ledger
from advisor.ledger.lines import line
from tests.advisor.building import RECORDING, capture


def carrying(path: Path, ledger: Ledger, recording: str = RECORDING) -> Path:
    """A capture, as it would be if it had been recorded beside this ledger."""
    *lines, _ = gzip.decompress(capture(recording).read_bytes()).decode().splitlines()
    lines.append(json.dumps({"ledger": [line(each) for each in ledger.entries]}))
    path.write_text("\n".join([*lines, json.dumps({"end": len(lines)}), ""]))
    return path
