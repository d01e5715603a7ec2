"""/-/reload: load the rules again."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, HTTPException
from pydantic import Field

from advisor.contract.recommendation import Frozen
from advisor.files.yaml_file import FileError
from advisor.http import examples
from advisor.http.dependencies import TheService
from advisor.http.limits import costly
from advisor.http.problems import documented

router = APIRouter(tags=["rules"])


class Reloaded(Frozen):
    """What was loaded."""

    rules: int = Field(description="Rules in force.")
    loaded_at: float = Field(description="Unix seconds.")


@router.post(
    "/-/reload",
    dependencies=[costly(4)],
    summary="Load the rules anew",
    description="Reads the rule files and the configuration again. If anything in them is wrong nothing changes, "
    "and the answer says where: file, line and column. SIGHUP does the same, and so, within ten seconds, does a "
    "change of the files.",
    response_description="They are in force.",
    responses=documented({400: "rules/my-rule.yaml:7:3: whn: there is no such key"}, answer=examples.RELOADED),
)
async def reload(service: TheService) -> Reloaded:
    """Load the rules again."""
    try:
        await service.reload()
    except FileError as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST, str(error)) from error
    rule_set = service.book.rule_set
    return Reloaded(rules=len(rule_set.rules), loaded_at=rule_set.loaded_at)
