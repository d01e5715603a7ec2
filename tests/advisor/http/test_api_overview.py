"""GET /overview and GET /statements: their parameters and examples, and a server that is away."""

from __future__ import annotations

import httpx
import pytest

from advisor.advice.service import Service
from advisor.http import examples
from advisor.observe.source import Replay
from advisor.overview.overview import Overview, overview
from advisor.overview.statements import TableStatements
from advisor.rules.rulebook import Rulebook
from tests.advisor.building import RECORDING, RULES_FOLDER, capture, captured
from tests.advisor.http.asking import Away, asking_service
from tests.advisor.sidecar import problem

RULEBOOK = Rulebook(RULES_FOLDER)


class Unreached(Away):
    """A server that was never seen."""

    def __init__(self) -> None:
        self.history = []


def asking(source: Replay) -> httpx.AsyncClient:
    return asking_service(Service(source, RULEBOOK))


@pytest.fixture
def client() -> httpx.AsyncClient:
    return asking(Replay(capture(RECORDING)))


async def test_a_recording_has_an_overview(client: httpx.AsyncClient) -> None:
    response = await client.get("/overview")
    assert response.headers["content-type"] == "application/json"
    assert Overview.model_validate_json(response.content) == overview(captured(RECORDING))


async def test_only_a_scanned_table_has_the_size_of_what_is_scanned(client: httpx.AsyncClient) -> None:
    tables = (await client.get("/overview")).json()["tables"]
    assert {table["table"]: table["scanned_pages"] for table in tables} == {"orders": 9258, "archive": None}


async def test_rates_are_over_the_window_that_is_asked_for(client: httpx.AsyncClient) -> None:
    whole, part = [(await client.get(f"/overview?window={seconds}")).json() for seconds in (3600, 3)]
    assert part["watched_seconds"] <= 3 < whole["watched_seconds"]
    assert part["tables"][0]["pages_read_per_second"] != whole["tables"][0]["pages_read_per_second"]
    for query in ("window=0", "window=3601", "window=x", "points=2"):
        assert problem(await client.get(f"/overview?{query}"))[0] == 422


async def test_while_the_server_is_away_the_last_overview_is_the_answer(client: httpx.AsyncClient) -> None:
    away = await asking(Away(capture(RECORDING))).get("/overview")
    assert away.json() == (await client.get("/overview")).json()


async def test_before_the_first_collection_there_is_none() -> None:
    assert problem(await asking(Unreached()).get("/overview")) == (503, "nothing has been collected yet")


async def test_an_overview_is_made_once_for_each_snapshot() -> None:
    service = Service(Replay(capture(RECORDING)), RULEBOOK)
    assert await service.overview() is await service.overview()
    assert await service.overview(5.0) is not await service.overview()


def test_the_example_is_an_overview_in_which_all_parts_are_known() -> None:
    shown = Overview.model_validate(examples.OVERVIEW)
    assert [part for part, lack in shown.lacks.items() if lack] == ["builds"]
    assert None not in (shown.pools, shown.residents, shown.tables, shown.change_buffer, shown.readers)


# /statements


async def test_statements_that_are_not_known_are_an_empty_list_with_a_reason(client: httpx.AsyncClient) -> None:
    statements = TableStatements.model_validate_json((await client.get("/statements?schema=shop&table=orders")).content)
    assert (statements.statements, statements.lacks) == ((), "a recording has no statements of its tables")


@pytest.mark.parametrize("query", ["", "schema=shop", "table=t", "schema=&table=t", f"schema=s&table={'x' * 65}"])
async def test_statements_are_those_of_one_table(client: httpx.AsyncClient, query: str) -> None:
    assert problem(await client.get(f"/statements?{query}"))[0] == 422


def test_the_examples_of_statements_are_answers() -> None:
    for example in examples.statements()["application/json"]["examples"].values():
        TableStatements.model_validate(example["value"])
