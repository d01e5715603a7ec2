"""A workload on a real server. `make gauntlet` and its short form follow what is advised; this test only watches."""

from __future__ import annotations

import pytest

from lab.gauntlet import clients, trial
from lab.gauntlet.workload import Expectation, Workload
from lab.servers import start

pytestmark = pytest.mark.server


def said(_: str) -> None:
    """No progress is shown."""


def test_a_workload_without_a_finding_says_what_was_expected() -> None:
    idle = Workload(
        "idle",
        "Hardly anything.",
        Expectation("A rule should fire.", one_of=("scan-exceeds-old-sublist",)),
        {"lookups": clients.look_up("items", 50, 5)},
        tables={"items": 50},
        period=0.5,
        warm_up=1,
        watched=3,
        filled=False,
    )
    with start("mysql-9.7", idle.options_on("mysql-9.7")) as server:
        record = trial.trial(idle, server, said)
    assert record.entries == ()
    assert record.unexpected == ("silent: none of scan-exceeds-old-sublist fires",)
