"""`innodb-advisor mcp` over standard input and output, as agents start it."""

from __future__ import annotations

import json
import subprocess
import sys

from advisor.mcp.answers import FindingAnswer, FindingList
from advisor.mcp.pages import AnswerPage
from tests.advisor.building import RECORDING, REPOSITORY, advised, capture, captured
from tests.advisor.mcp.agent import TOOLS, started
from tests.advisor.sidecar import environment


async def test_tools_say_that_they_only_read_and_take_no_sql() -> None:
    async with started("--recording", capture(RECORDING)) as agent:
        tools = (await agent.client.list_tools()).tools
        assert tuple(tool.name for tool in tools) == TOOLS
        for tool in tools:
            assert tool.annotations is not None
            assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (True, False)
            assert tool.output_schema is not None
            assert tool.description
            assert "\n" not in tool.description
            arguments = tool.input_schema["properties"]
            assert not {"sql", "query", "statement"} & set(arguments)
            assert all(argument["description"] for argument in arguments.values()), tool.name


async def test_an_agent_gets_from_the_findings_to_the_statements() -> None:
    [expected] = advised(captured(RECORDING)).recommendations
    async with started("--recording", capture(RECORDING)) as agent:
        findings = await agent.ask("list_findings")
        assert AnswerPage[FindingList].model_validate(findings.values).left_out == 0
        [line] = findings.answer["findings"]
        assert (line["fingerprint"], line["rule"]) == (expected.fingerprint, expected.rule)
        assert expected.fingerprint in findings.paragraph

        finding = await agent.ask("get_finding", fingerprint=line["fingerprint"])
        assert AnswerPage[FindingAnswer].model_validate(finding.values).answer.confidence == expected.confidence
        assert finding.answer["state"] == "standing"
        assert [change["apply"] for change in finding.answer["changes"]] == [
            list(change.apply) for change in expected.changes
        ]
        assert all(statement in finding.paragraph for change in expected.changes for statement in change.apply)


async def test_errors_name_the_cure() -> None:
    async with started("--recording", capture(RECORDING)) as agent:
        assert "/advise has all there is" in await agent.refused("get_finding", fingerprint="9f2c")
        assert await agent.refused("list_findings", server="db-1") == (
            "no server db-1: there is only recording.jsonl.gz, and server may be left out"
        )
        assert "did you mean scan-exceeds-old-sublist or" in await agent.refused(
            "list_findings", rule="scan-exceeds-old-sublst"
        )
        assert "did you mean innodb_old_blocks_pct?" in await agent.refused(
            "what_if", settings={"innodb_old_block_pct": 80}
        )
        assert "pass next_cursor" in await agent.refused("list_findings", cursor="99")
        assert "older than the server's" in await agent.refused("forecast_upgrade", to="8.0.11")


def test_without_the_sdk_one_sentence_says_what_to_install() -> None:
    program = "import sys; sys.modules['mcp'] = None; from advisor.cli.main import main; main()"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program, "mcp", "--url", "http://127.0.0.1:1"],
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    needs = "`mcp` needs the SDK of the Model Context Protocol: pip install 'innodb-advisor[mcp]'"
    assert done.stderr == f"Error: {needs}\n"


async def test_resources_and_prompts_lead_to_rules_and_tools() -> None:
    async with started("--recording", capture(RECORDING)) as agent:
        client = agent.client
        [line] = (await agent.ask("list_findings")).answer["findings"]

        async def read(name: str) -> str:
            [content] = (await client.read_resource(f"innodb-advisor://{name}")).contents
            return json.loads(content.model_dump_json())["text"]  # type: ignore[no-any-return]  # a text

        assert (await read(f"rules/{line['rule']}")).startswith("# ")
        assert (await read("runbooks/InnoDBDown")).startswith("# InnoDBDown\n")
        assert "innodb\\_old\\_blocks\\_pct" in await read("report") or "innodb_old_blocks_pct" in await read("report")
        assert f"innodb-advisor://rules/{line['rule']}\n" in await read("index")

        prompts = (await client.list_prompts()).prompts
        assert [prompt.name for prompt in prompts] == ["triage_alert", "cut_memory", "review_patch", "plan_upgrade"]
        asked = await client.get_prompt("triage_alert", {"fingerprint": line["fingerprint"]})
        [message] = asked.messages
        text = json.loads(message.content.model_dump_json())["text"]
        assert line["fingerprint"] in text
        assert "plan_change" in text


def test_a_source_is_named_once() -> None:
    for arguments in ((), ("--recording", capture(RECORDING), "--url", "http://127.0.0.1:1")):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "advisor.cli", "mcp", *map(str, arguments)],
            cwd=REPOSITORY,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "recording" in done.stderr
