"""The tools: each asks one question, and answers with a paragraph and a page of values. All of them only read."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal, TypeVar

from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from advisor.advice.silence import Silences
from advisor.contract.plan import TargetName
from advisor.contract.recommendation import Severity
from advisor.contract.upgrade import UpgradeForecast
from advisor.contract.visible import visible
from advisor.ledger.history import History
from advisor.mcp import paragraphs
from advisor.mcp.answers import (
    CurveAnswer,
    FindingAnswer,
    FindingList,
    PlanAnswer,
    ServerList,
    plan_answer,
)
from advisor.mcp.endpoint import NotAnswered
from advisor.mcp.pages import AnswerPage, written
from advisor.mcp.sources import AnswerSource
from advisor.pool.what_if import WhatIf

Answer = TypeVar("Answer", bound=BaseModel)
Choice = Callable[[], Awaitable[AnswerSource]]

_READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

OneServer = Annotated[
    str | None,
    Field(description="A name from list_servers. May be left out where only one server is watched."),
]
Fingerprint = Annotated[
    str,
    Field(
        description="Sixteen hexadecimal digits, from list_findings; an alert has them at the end of its annotation"
        " page_url, after the #, and of its generatorURL.",
        min_length=1,
    ),
]
Cursor = Annotated[str | None, Field(description="next_cursor of the page before; left out for the first page.")]
Rule = Annotated[str | None, Field(description="Only this rule, such as scan-exceeds-old-sublist; left out for all.")]


class Tools:
    """The tools of a server."""

    def __init__(self, choose: Choice) -> None:
        """Ask nothing yet.

        Args:
            choose: Says who answers; raises NotAnswered while that is not known.
        """
        self._choose = choose

    def add_to(self, server: MCPServer) -> None:
        """Offer all of them."""
        for tool in (
            self.list_servers,
            self.list_findings,
            self.get_finding,
            self.what_if,
            self.miss_curve,
            self.plan_change,
            self.forecast_upgrade,
            self.get_outcome,
            self.explain_silence,
        ):
            description = " ".join((inspect.getdoc(tool) or "").split())
            server.add_tool(tool, description=description, annotations=_READS)

    async def list_servers(self, cursor: Cursor = None) -> Annotated[CallToolResult, AnswerPage[ServerList]]:
        """The MySQL and MariaDB servers that are watched, with the number of findings about each.

        Begin here where several servers may be watched; their names are what other tools take as `server`.
        """
        return await self._answer(lambda source: source.servers(), paragraphs.servers, cursor)

    async def list_findings(
        self,
        server: OneServer = None,
        severity: Annotated[Severity | None, Field(description="This severity and above.")] = None,
        rule: Rule = None,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, AnswerPage[FindingList]]:
        """What to change on InnoDB's settings, indexes or version: each finding in a line, the worst first.

        Each has a fingerprint, which stays the same while rule and subject do. get_finding has its evidence and
        statements. An empty list means that nothing is to be changed in what could be seen: explain_silence says what
        could not.
        """
        return await self._answer(
            lambda source: source.findings(server, severity, rule or None), paragraphs.findings, cursor
        )

    async def get_finding(
        self, fingerprint: Fingerprint, server: OneServer = None, cursor: Cursor = None
    ) -> Annotated[CallToolResult, AnswerPage[FindingAnswer]]:
        """One finding: what to change with SQL and its way back, what that will do, and what it rests on.

        The predicted effect has its error, the evidence its sources; alternatives come with it, and what became of it
        when it was followed before. Of a finding that stood earlier it says since when it is gone, and why. For an
        alert begin here, with its fingerprint.
        """
        return await self._answer(lambda source: source.finding(fingerprint, server), paragraphs.finding, cursor)

    async def what_if(
        self,
        settings: Annotated[
            dict[str, int | float | str],
            Field(
                description='Settings and the values to try together, such as {"innodb_buffer_pool_size": "4G"}.'
                " The model answers for innodb_old_blocks_pct, innodb_old_blocks_time, innodb_buffer_pool_size,"
                " innodb_parallel_read_threads and, on MariaDB, innodb_lru_scan_depth.",
                min_length=1,
            ),
        ],
        server: OneServer = None,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, AnswerPage[WhatIf]]:
        """What a change of settings would do to the pages that are read, by the model of the buffer pool's LRU list.

        Nothing is changed on the server. The answer has reads now and then for each scanned table, what the hot set
        would lose, and the model's error. It takes some seconds.
        """
        return await self._answer(lambda source: source.what_if(settings, server), paragraphs.what_if, cursor)

    async def miss_curve(
        self, server: OneServer = None, cursor: Cursor = None
    ) -> Annotated[CallToolResult, AnswerPage[CurveAnswer]]:
        """Pages read from disk a second with buffer pools of a quarter to four times today's size.

        What to expect, the fewest and the most, and the same by table: whether memory can be cut, or whether more
        memory would help. It takes some seconds.
        """
        return await self._answer(lambda source: source.curve(server), paragraphs.curve, cursor)

    async def plan_change(
        self,
        fingerprint: Fingerprint,
        target: Annotated[
            TargetName,
            Field(description="Who owns the server's settings; cnf is an option file. Ask a person where in doubt."),
        ],
        manifest: Annotated[
            str | None,
            Field(description="The owner's object or file of today, as text: the patch is then made for it."),
        ] = None,
        server: OneServer = None,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, AnswerPage[PlanAnswer]]:
        """The change that a finding asks for, ready to be merged: a patch for the owner of the settings.

        With it come the steps in their order with checks, memory, the roll-out with its cold starts, when to abort,
        when it is done, and the way back. Nothing is applied. Propose it to a person, or as a pull request; then ask
        get_outcome what came of it.
        """

        async def plan(source: AnswerSource) -> PlanAnswer:
            finding = await source.finding(fingerprint, server)
            return plan_answer(await source.plan(fingerprint, target, manifest, finding.server), finding.subject)

        return await self._answer(plan, paragraphs.plan, cursor)

    async def forecast_upgrade(
        self,
        to: Annotated[
            str, Field(description="The new version, such as 8.4.6; a series alone is its newest known release.")
        ],
        server: OneServer = None,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, AnswerPage[UpgradeForecast]]:
        """What another version of the server will do to the workload that was watched.

        What would not start, what changes for the worse with the option lines that keep what is better, what gets
        better by itself, advice that falls away, SQL to run before and after, and what cannot be said. It works upward,
        within MySQL and within MariaDB.
        """
        return await self._answer(lambda source: source.forecast(to, server), paragraphs.forecast, cursor)

    async def get_outcome(
        self,
        fingerprint: Annotated[
            str | None, Field(description="Of the finding whose change is asked about; left out for all changes.")
        ] = None,
        setting: Annotated[str | None, Field(description="Only changes of this setting.")] = None,
        result: Annotated[
            Literal["open", "kept", "missed", "unpromised", "not comparable"] | None,
            Field(description="Only changes with this result."),
        ] = None,
        server: OneServer = None,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, AnswerPage[History]]:
        """What became of changes of settings, advised or not: predicted, measured, and what got worse.

        Results: open (the pool settles, or the same work has still to come: ask again later), kept (as predicted,
        within the stated error), missed, unpromised (nobody predicted anything), not comparable (the work changed). A
        change that did harm comes with the statements that take it back.
        """
        selection = {"fingerprint": fingerprint, "setting": setting, "result": result}
        return await self._answer(lambda source: source.history(selection, server), paragraphs.history, cursor)

    async def explain_silence(
        self,
        rule: Rule = None,
        server: OneServer = None,
        cursor: Cursor = None,
    ) -> Annotated[CallToolResult, AnswerPage[Silences]]:
        """Why rules make no finding. Ask it before you say that nothing is wrong.

        What a blind rule lacks and the cure, who suppressed or overruled a finding, or the condition that does not
        hold, with the values that it was judged by.
        """
        return await self._answer(lambda source: source.silence(rule or None, server), paragraphs.silence, cursor)

    async def _answer(
        self,
        ask: Callable[[AnswerSource], Awaitable[Answer]],
        paragraph: Callable[[Answer], str],
        cursor: str | None,
    ) -> CallToolResult:
        """A page of an answer, or why there is none."""
        try:
            answer = await ask(await self._choose())
            page = await asyncio.to_thread(written, answer, paragraph, cursor)
        except NotAnswered as error:
            return CallToolResult(content=[TextContent(type="text", text=visible(str(error)))], is_error=True)
        texts = (page.paragraph, page.text)
        return CallToolResult(
            content=[TextContent(type="text", text=text) for text in texts], structured_content=dict(page.structured)
        )
