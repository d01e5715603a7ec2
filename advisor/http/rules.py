"""/rules: the rules in force, what they say now, and loading them anew."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Path, Request, Response
from pydantic import Field
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from advisor.advice.service import App
from advisor.advice.trace import RuleState, StateName
from advisor.contract.recommendation import Frozen, Severity
from advisor.files import yaml_file
from advisor.files.yaml_file import FileError
from advisor.http import examples
from advisor.http.negotiation import negotiated
from advisor.http.problems import documented, near
from advisor.rules import page
from advisor.rules.check import Rule
from advisor.rules.file import RuleFile
from advisor.rules.rulebook import Origin
from exporter.server import Server

_FORMS = ("application/json", "application/yaml", "text/plain", "text/markdown")


class RuleNow(Frozen):
    """A rule, and what it says of the server now."""

    id: str
    title: str
    severity: Severity
    origin: Origin
    applies: bool | None = Field(description="Whether it applies to this server; null while none has been seen.")
    state: StateName | None = Field(
        description="Null where it does not apply, or nothing has been seen. Set aside: suppressed or overruled."
    )
    lacks: tuple[str, ...] = Field(description="What it needs and could not see.")


class Rules(Frozen):
    """The rules in force."""

    rules: tuple[RuleNow, ...]
    loaded_at: float = Field(description="When their files were read, Unix seconds.")
    problem: str | None = Field(description="Why the last attempt to load them anew was refused.")


class Reloaded(Frozen):
    """What was loaded."""

    rules: int = Field(description="Rules in force.")
    loaded_at: float = Field(description="Unix seconds.")


def add(app: FastAPI, parts: App) -> None:
    """Add the endpoints."""
    example = parts.book.rules[0]

    @app.get(
        "/rules",
        summary="The rules in force",
        description="Every rule with its severity, where it comes from, and what it says of the server now.",
        response_description="The rules, by id.",
        responses={200: {"content": {"application/json": {"example": examples.RULES}}}, **documented()},
        tags=["rules"],
    )
    async def rules() -> Rules:
        await parts.look()
        given = await parts.given()
        states = {} if given is None else given.states
        in_force, latest = parts.book.state, parts.source.latest
        server = None if latest is None else latest.server
        return Rules(
            rules=tuple(_now(each, in_force.origins[each.id], server, states.get(each.id)) for each in in_force.rules),
            loaded_at=in_force.loaded_at,
            problem=None if parts.book.problem is None else str(parts.book.problem),
        )

    @app.get(
        "/rules/{rule_id}",
        summary="One rule",
        description="The whole rule as it is in force: as JSON, as YAML that can be a rule file again (also as plain "
        "text), or as a page in markdown, as the Accept header asks.",
        response_model=RuleFile,
        response_description="The content of the rule's file.",
        responses={
            200: {"content": examples.rule(example, as_yaml(example))},
            **documented(
                {
                    404: "no rule scan-exceeds-old; did you mean scan-exceeds-old-sublist?",
                    406: f"there are {', '.join(_FORMS)}",
                }
            ),
        },
        tags=["rules"],
    )
    def rule(  # in a thread: it reads the file again
        request: Request,
        rule_id: Annotated[str, Path(description="Its id.", examples=["scan-exceeds-old-sublist"])],
    ) -> Response:
        in_force = parts.book.state
        found = next((each for each in in_force.rules if each.id == rule_id), None)
        if found is None:
            known = near(rule_id, in_force.origins)
            raise HTTPException(HTTPStatus.NOT_FOUND, f"no rule {rule_id}; {known}")
        form = negotiated(request, _FORMS)
        match form:
            case "application/json":
                written = found.file.model_dump_json(by_alias=True, exclude_unset=True)
            case "text/markdown":
                written = page.markdown(found, in_force.origins[rule_id])
            case _:
                written = as_yaml(found)
        return Response(written, media_type=form, headers={"Vary": "Accept"})

    @app.post(
        "/-/reload",
        summary="Load the rules anew",
        description="Reads the rule files and the configuration again. If anything in them is wrong nothing changes, "
        "and the answer says where: file, line and column. SIGHUP does the same, and so, within ten seconds, does a "
        "change of the files.",
        response_description="They are in force.",
        responses={
            200: {"content": {"application/json": {"example": examples.RELOADED}}},
            **documented({400: "rules/my-rule.yaml:7:3: whn: there is no such key"}),
        },
        tags=["rules"],
    )
    async def reload() -> Reloaded:
        try:
            await parts.reload()
        except FileError as error:
            raise HTTPException(HTTPStatus.BAD_REQUEST, str(error)) from error
        in_force = parts.book.state
        return Reloaded(rules=len(in_force.rules), loaded_at=in_force.loaded_at)


def as_yaml(rule: Rule) -> str:
    """The rule's file, or where that is no longer the one in force, one of the same content without its comments."""
    with contextlib.suppress(FileError):
        source = yaml_file.read(rule.path, RuleFile, "")
        if source.content == rule.file:
            return source.text
    out = io.StringIO()
    yaml = YAML()
    yaml.width = 120
    yaml.dump(_folded(rule.file.model_dump(mode="json", by_alias=True, exclude_unset=True)), out)
    return out.getvalue()


def _folded(value: Any) -> Any:
    """With texts of several lines as blocks."""
    match value:
        case Mapping():
            return {key: _folded(each) for key, each in value.items()}
        case list():
            return [_folded(each) for each in value]
        case str() if "\n" in value:
            return LiteralScalarString(value)
    return value


def _now(rule: Rule, origin: Origin, server: Server | None, state: RuleState | None) -> RuleNow:
    return RuleNow(
        id=rule.id,
        title=rule.file.title,
        severity=rule.file.severity,
        origin=origin,
        applies=None if server is None else server in rule.file.applies,
        state=None if state is None else state.state,
        lacks=() if state is None else state.lacks,
    )
