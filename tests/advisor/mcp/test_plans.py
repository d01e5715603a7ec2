"""plan_change: the whole plan in its pages, each within its bound, and patches to the letter."""

from __future__ import annotations

import pytest

from advisor.contract.plan import Plan, Step
from advisor.mcp.answers import PlanAnswer
from advisor.mcp.pages import BOUNDS
from tests.advisor.building import RECORDING, capture
from tests.advisor.in_process import InProcess
from tests.advisor.mcp.agent import started

LISTS = [name for name, field in PlanAnswer.model_fields.items() if str(field.annotation).startswith("tuple")]


@pytest.mark.parametrize("target", ["cnf", "percona-ps", "mariadb-operator", "terraform"])
async def test_a_plan_is_the_sidecars_own(replaying: InProcess, target: str) -> None:
    [finding] = replaying.get("/advise").json()["recommendations"]
    path = f"/advise/{finding['fingerprint']}/plan"
    async with started("--recording", capture(RECORDING)) as agent:
        arguments = {"fingerprint": finding["fingerprint"], "target": target}
        response = replaying.get(path, params={"for": target})
        if not response.is_success:
            assert await agent.refused("plan_change", **arguments) == response.json()["detail"]
            return
        expected = Plan.model_validate_json(response.text)
        pages = await agent.pages("plan_change", **arguments)
        assert all(page.tokens <= BOUNDS.tokens for page in pages)
        lists = {name: [item for page in pages for item in page.answer.get(name, ())] for name in LISTS}
        plan = PlanAnswer.model_validate({**pages[0].answer, **lists})
        assert [_patched(step) for step in plan.steps] == [_patched(step) for step in expected.steps]
        assert [_patched(step) for step in plan.undo] == [_patched(step) for step in expected.undo]
        assert plan.changes == expected.changes
        assert len(plan.cold_starts) == len(expected.roll_out.cold_starts)
        assert "Nothing is applied" in pages[0].paragraph


def _patched(step: Step) -> tuple[str | None, tuple[str, ...]]:
    """The patch and the SQL of a step."""
    return None if step.patch is None else step.patch.text, step.apply


async def test_a_manifest_is_what_the_patch_is_made_for() -> None:
    async with started("--recording", capture(RECORDING)) as agent:
        [line] = (await agent.ask("list_findings")).answer["findings"]
        arguments = {"fingerprint": line["fingerprint"], "target": "cnf"}
        option_file = "[mysqld]\ninnodb_old_blocks_pct = 37\n"
        answer = (await agent.ask("plan_change", **arguments, manifest=option_file)).answer
        [patch] = [step["patch"] for step in answer["steps"] if "patch" in step][:1]
        assert "innodb_old_blocks_pct" in patch["text"]


async def test_a_plan_of_nothing_is_refused() -> None:
    async with started("--recording", capture(RECORDING)) as agent:
        why = await agent.refused("plan_change", fingerprint="9f2c", target="cnf")
        assert "9f2c" in why
        why = await agent.refused("plan_change", fingerprint="9f2c", target="nobody")
        assert "percona-ps" in why
