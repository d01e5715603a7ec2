"""Records of runs on real servers: one file per experiment and one per proved rule, in lab/records."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from lab.campaign.part import Data, PartResult
from lab.packages.cache import REPOSITORY

FOLDER = REPOSITORY / "lab" / "records"


def save(group: str, done: Sequence[PartResult]) -> None:
    """Write the results of all parts of a group, such as `experiments/E3`."""
    record = {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "machine": machine(),
        "parts": {each.part.name: each.record() for each in done},
    }
    path = FOLDER / f"{group}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(group: str) -> Mapping[str, Any] | None:
    """A group's record; None while there is none."""
    path = FOLDER / f"{group}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def data(record: Mapping[str, Any]) -> dict[str, Data]:
    """The measurements in a record, by part."""
    return {name: part["data"] for name, part in record["parts"].items()}


def machine() -> dict[str, Any]:
    """The machine: cores, memory, kernel."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    kernel = ".".join(os.uname().release.split(".")[:2])
    return {"cores": os.cpu_count(), "memory_gib": round(memory / 2**30, 1), "kernel": kernel}
