"""/statements: what reads a table, where performance_schema has the digests."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from advisor.http import examples
from advisor.http.answers import as_json
from advisor.http.dependencies import TheService
from advisor.http.limits import costly
from advisor.http.problems import documented
from advisor.overview.statements import TableStatements
from exporter.snapshot import Table

router = APIRouter(tags=["advice"])


class Wanted(BaseModel):
    """A table."""

    model_config = ConfigDict(extra="forbid")

    schema_: str = Field(alias="schema", min_length=1, max_length=64, description="Its schema.", examples=["shop"])
    table: str = Field(min_length=1, max_length=64, description="Its name.", examples=["orders"])


@router.get(
    "/statements",
    dependencies=[costly(2)],
    summary="The statements behind a table",
    description="The normalised statements that name the table, by performance_schema's digests: those without an index"
    " first, then the ones that take the most time. The server is asked, at most once in ten seconds for a table.",
    response_model=TableStatements,
    response_description="Empty where no statement is known; lacks says why.",
    responses=documented({422: "table is missing"}, content=examples.statements()),
)
async def statements(wanted: Annotated[Wanted, Query()], service: TheService) -> Response:
    """The statements."""
    return as_json(await service.statements(Table(wanted.schema_, wanted.table)))
