"""Parts of experiments and proofs, and the records of what they measured in lab/records."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.packages.cache import REPOSITORY
from lab.servers import PrivateServer

FOLDER = REPOSITORY / "lab" / "records"
USUAL_SECONDS = 30.0

Say = Callable[[str], None]
"""Takes a progress message."""
Data = Mapping[str, Any]
"""A part's measurements: any JSON object."""
Entries = Mapping[str, Mapping[str, Any]]
"""By the part's name, its entry in a record: server, version, seconds, attempts, data."""


class NotShown(Exception):
    """The server did not behave as expected; the text says what was expected and what was seen."""


class NotNow(Exception):
    """The machine is not in the state that the part needs, such as idle; the text says its state."""


@dataclass(frozen=True, eq=False)
class Part:
    """One server's share of an experiment or a proof.

    Attributes:
        group: Its experiment or proof, such as `experiments/E3` or `proofs/old-blocks-time-zero`.
        name: Its name, such as `mysql-5.6, pct 37`; it contains the server's name.
        server: Its server, one of `lab.servers.NAMES`.
        options: The server's options.
        run: The work on the running server. Raises `NotShown` or `NotNow`.
        origin: Makes a data folder whose copy the server starts on; None for one without data.
        version: Of a measurement that stays valid for other code: a digest of what decides it.
    """

    group: str
    name: str
    server: str
    options: Mapping[str, str]
    run: Callable[[PrivateServer, Say], Data]
    origin: Callable[[], Path] | None = None
    version: str = ""

    @property
    def subject(self) -> str:
        """The experiment's or the rule's id."""
        return self.group.rpartition("/")[2]

    @property
    def takes(self) -> float:
        """Its seconds when it was recorded, for the progress bar; USUAL_SECONDS before that."""
        record = load(self.group)
        recorded = record["parts"].get(self.name) if record else None
        return float(recorded["seconds"]) if recorded else USUAL_SECONDS

    def __str__(self) -> str:
        return f"{self.subject}: {self.name}"


def save(group: str, entries: Entries) -> None:
    """Write the record of a group, such as `experiments/E3`."""
    record = {"date": dt.datetime.now(tz=dt.UTC).date().isoformat(), "machine": machine(), "parts": entries}
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


def commit() -> str:
    """The commit that is checked out, shortened."""
    command = ["git", "-C", str(REPOSITORY), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
