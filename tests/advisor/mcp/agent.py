"""An agent: the SDK's own client, and what it makes of answers."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent

from advisor.mcp.pages import BOUNDS
from tests.advisor.building import REPOSITORY
from tests.advisor.sidecar import environment

TOOLS = (
    *("list_servers", "list_findings", "get_finding", "what_if", "miss_curve", "plan_change", "forecast_upgrade"),
    *("get_outcome", "explain_silence"),
)


@dataclass(frozen=True)
class ToolAnswer:
    """An answer of a tool.

    Attributes:
        paragraph: Its first text.
        values: The structured form; None for an error.
        tokens: Of all its texts and of its structured form, by the least number of characters a token.
    """

    paragraph: str
    values: dict[str, Any] | None
    tokens: float

    @property
    def answer(self) -> dict[str, Any]:
        assert self.values is not None, self.paragraph
        return dict(self.values["answer"])


class Agent:
    """Calls tools."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(self, tool: str, **arguments: Any) -> ToolAnswer:
        """The answer of a tool that has one; both forms say the same."""
        answer = await self.try_to_ask(tool, **arguments)
        assert answer.values is not None, answer.paragraph
        return answer

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Why a tool has no answer."""
        answer = await self.try_to_ask(tool, **arguments)
        assert answer.values is None, answer.values
        return answer.paragraph

    async def try_to_ask(self, tool: str, **arguments: Any) -> ToolAnswer:
        result = await self.client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        texts = [content.text for content in result.content if isinstance(content, TextContent)]
        assert len(texts) == len(result.content)
        values = result.structured_content
        if values is not None:
            assert json.loads(texts[1]) == values
        characters = sum(map(len, texts)) + len(json.dumps(values, ensure_ascii=False, separators=(",", ":")))
        assert result.is_error == (values is None)
        return ToolAnswer(texts[0], values, characters / BOUNDS.characters)

    async def pages(self, tool: str, **arguments: Any) -> list[ToolAnswer]:
        """All pages of an answer."""
        pages = [await self.ask(tool, **arguments)]
        while (cursor := (pages[-1].values or {}).get("next_cursor")) is not None:
            pages.append(await self.ask(tool, **arguments, cursor=cursor))
        return pages


class Novice:
    """An agent that knows nothing but what the tools say of themselves.

    It takes the tool whose description has the words of its need, and fills the arguments by their names.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    async def ask(self, need: str, **known: Any) -> tuple[str, dict[str, Any]]:
        """The paragraph and the answer of the tool whose description has these words, to what is known of arguments."""
        tools = (await self._agent.client.list_tools()).tools
        [tool] = [tool for tool in tools if need in (tool.description or "")]
        arguments = {name: known[name] for name in tool.input_schema["properties"] if name in known}
        assert set(tool.input_schema.get("required", ())) <= set(arguments), tool.name
        first, *pages = await self._agent.pages(tool.name, **arguments)
        answer = first.answer
        for page in pages:  # the lists go on
            for name, value in page.answer.items():
                answer[name] = answer.get(name, []) + value if isinstance(value, list) else value
        return first.paragraph, answer


@asynccontextmanager
async def started(*arguments: object) -> AsyncIterator[Agent]:
    """An agent that starts `innodb-advisor mcp` with these arguments, over standard input and output."""
    words = ["-m", "advisor.cli", "mcp", *map(str, arguments)]
    command = StdioServerParameters(command=sys.executable, args=words, env=environment(), cwd=REPOSITORY)
    async with Client(command) as client:
        yield Agent(client)


@asynccontextmanager
async def beside(server: MCPServer) -> AsyncIterator[Agent]:
    """An agent in the process of the server."""
    async with Client(server) as client:
        yield Agent(client)
