"""/silence over HTTP: what keeps each rule from a finding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.advisor.building import capture
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem

SCAN = "scan-exceeds-old-sublist"


def rows(sidecar: InProcess, query: str = "") -> dict[str, Any]:
    """The first row of each rule."""
    silences = sidecar.get(f"/silence{query}").json()["silences"]
    return {row["rule"]: row for row in reversed(silences)}


def test_each_silent_rule_has_its_reason(unlike: InProcess) -> None:
    silent = rows(unlike)
    assert not {"overruling", "only-an-action"} & set(silent), "they make findings"
    states = {name: silent[name]["state"] for name in ("breaking", "unwanted", SCAN, "only-on-the-moon")}
    assert states == {
        "breaking": "failed",
        "unwanted": "suppressed",
        SCAN: "overruled",
        "only-on-the-moon": "does not apply",
    }
    [reason] = silent[SCAN]["reasons"]
    assert "overruling" in reason
    assert unlike.get(f"/advise/{silent[SCAN]['fingerprint']}").json()["reason"] == reason
    assert all(row["reasons"] for row in silent.values())


def test_conditions_come_with_their_values(replaying: InProcess) -> None:
    row = rows(replaying, "?rule=change-buffer-backlog")["change-buffer-backlog"]
    assert (row["state"], row["subject"]) == ("silent", {})
    assert row["reasons"] == ["when `ibuf.size_pages >= 100.0` is false (ibuf.size_pages = 1)"]


def test_a_rule_that_is_asked_for_may_have_a_finding(replaying: InProcess) -> None:
    row = rows(replaying, f"?rule={SCAN}")[SCAN]
    assert (row["state"], row["subject"]["table"]) == ("firing", "orders")
    assert replaying.get(f"/advise/{row['fingerprint']}").json()["summary"] in row["reasons"]


def test_a_blind_rule_names_the_cure(compose: Callable[..., InProcess]) -> None:
    row = rows(compose("--recording", capture("mariadb-10.11/read-ahead-wasted")))[SCAN]
    assert row["state"] == "blind"
    assert row["reasons"]
    assert row["cure"]


def test_an_unknown_rule_is_refused(replaying: InProcess) -> None:
    status, detail = problem(replaying.get("/silence?rule=scan-exceeds-old-sublst"))
    assert status == 422
    assert "did you mean scan-exceeds-old-sublist" in detail
