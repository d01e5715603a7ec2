"""Recordings and state files that carry a ledger."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from advisor.files.stored import StoredItems
from advisor.ledger.entry import ENTRY
from advisor.ledger.ledger import Ledger
from exporter.state_file import StateFile
from tests.advisor.building import RECORDING, capture


def carrying(path: Path, ledger: Ledger, recording: str = RECORDING) -> Path:
    """A capture, as it would be if it had been recorded beside this ledger."""
    *lines, _ = gzip.decompress(capture(recording).read_bytes()).decode().splitlines()
    lines.append(json.dumps({"ledger": [entry.model_dump(mode="json") for entry in ledger.by_key.values()]}))
    path.write_text("\n".join([*lines, json.dumps({"end": len(lines)}), ""]))
    return path


def stored(folder: Path, ledger: Ledger, address: str) -> Path:
    """The state file of a sidecar with this ledger, which has ended."""
    with StateFile(folder, address) as state:
        items = StoredItems(state, "entries", ENTRY)
        items.keep(ledger.by_key)
        assert items.problem is None
    return state.path
