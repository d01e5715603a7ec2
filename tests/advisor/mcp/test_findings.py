"""Findings in every state, and the way from one to its outcome, on recordings of both sides of a change."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.advisor.building import RECORDING, capture
from tests.advisor.mcp.agent import Novice, started
from tools import practice

RULE = "scan-exceeds-old-sublist"
FOLLOWED = capture("mysql-9.7/scan-followed-midway")
"""The same table, and the same advice, which is followed half-way."""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of FOLLOWED, with the ledger of a sidecar that watched."""
    path = tmp_path_factory.mktemp("watched") / "followed.jsonl.gz"
    path.write_bytes(gzip.compress(practice.content(FOLLOWED).encode()))
    return path


async def test_from_a_fingerprint_to_a_plan_and_later_to_the_outcome(watched: Path) -> None:
    async with started("--recording", capture(RECORDING)) as agent:
        [line] = (await agent.ask("list_findings")).answer["findings"]
        _, finding = await Novice(agent).ask("For an alert begin here", fingerprint=line["fingerprint"])
        assert (finding["rule"], finding["state"]) == (RULE, "standing")
    async with started("--recording", watched) as agent:  # it was followed
        novice = Novice(agent)
        paragraph, finding = await novice.ask("For an alert begin here", fingerprint=line["fingerprint"])
        assert finding["state"] == "gone"
        assert "followed: predicted 0" in finding["reason"]
        assert "get_outcome" in paragraph
        _, history = await novice.ask("What became of changes", fingerprint=line["fingerprint"])
        [outcome] = history["outcomes"]
        assert (outcome["result"], outcome["followed"]) == ("kept", True)


async def test_a_suppressed_finding_is_counted_and_comes_with_the_reason() -> None:
    async with started("--recording", capture(RECORDING), "--suppress", RULE) as agent:
        findings = await agent.ask("list_findings")
        assert (findings.answer["findings"], findings.answer["set_aside"]) == ([], 1)
        assert "explain_silence says why" in findings.paragraph
        rows = (await agent.ask("explain_silence", rule=RULE)).answer["silences"]
        [suppressed] = [row for row in rows if row["state"] == "suppressed"]
        finding = await agent.ask("get_finding", fingerprint=suppressed["fingerprint"])
        assert finding.answer["state"] == "suppressed or overruled"
        assert finding.answer["reason"] in suppressed["reasons"]
