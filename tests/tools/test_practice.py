"""The recording to practise on is a capture with its outcomes, and an agent can practise on it."""

from __future__ import annotations

from tests.advisor.mcp.agent import started
from tools import practice


def test_it_is_what_the_tool_makes() -> None:
    assert practice.read(practice.PRACTICE) == practice.content(), "python -m tools.docs writes it anew"


async def test_it_has_a_finding_to_plan_for_and_a_change_that_did_harm() -> None:
    async with started("--recording", practice.PRACTICE) as agent:
        lines = (await agent.ask("list_findings")).answer["findings"]
        assert {"scan-exceeds-buffer-pool", "change-did-harm"} <= {line["rule"] for line in lines}
        history = await agent.ask("get_outcome")
        [outcome] = history.answer["outcomes"]
        assert outcome["changes"][0]["setting"] == "innodb_old_blocks_pct"
        assert "It did harm; the way back: SET GLOBAL innodb_old_blocks_pct = 37" in history.paragraph
