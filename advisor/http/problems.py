"""Errors as problem details (RFC 9457): application/problem+json, with a sentence that says what is wrong."""

from __future__ import annotations

import difflib
import logging
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from advisor.advice.service import Unseen
from advisor.contract.visible import visible
from advisor.http.answers import Json, unacceptable
from advisor.plan.targets.target import PlanRefused
from advisor.pool.errors import Refused, Unanswerable
from advisor.upgrade.target import UpgradeRefused

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
UNSEEN = "cannot connect to 127.0.0.1:3306: Connection refused"
"""An example of the detail while the server is away."""
_UNEXPECTED = "an unexpected error; the log has the details"
_WORDS = {
    "extra_forbidden": "is not known here",
    "missing": "is missing",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "string_type": "must be a text",
    "dict_type": "must be an object of names and values",
    "model_attributes_type": "must be a JSON object, sent as application/json",
}
"""Pydantic's kinds of errors in plain words, which follow the name of what was sent."""


class ProblemDetails(BaseModel):
    """An error (RFC 9457)."""

    model_config = ConfigDict(title="Problem")

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(description="What is wrong, and where it can be said, what to do.")


def documented(
    examples: Mapping[int, str] = types.MappingProxyType({}),
    *,
    offers: Sequence[str] = (),
    answer: Any = None,
    content: Mapping[str, Any] | None = None,
) -> dict[int | str, dict[str, Any]]:
    """The answers of an endpoint for OpenAPI, by status.

    Args:
        examples: Of its problems, the detail of each.
        offers: The media types between which the header Accept chooses.
        answer: An example of its JSON; None to show none.
        content: The same of its other media types, as OpenAPI has them.
    """

    def shown(status: int, detail: str) -> dict[str, Any]:
        return {MEDIA_TYPE: {"schema": ProblemDetails.model_json_schema(), "example": _body(status, detail)}}

    forms = {**({} if answer is None else {"application/json": {"example": answer}}), **(content or {})}
    answers: dict[int | str, dict[str, Any]] = {200: {"content": forms}} if forms else {}
    details = {**examples, 406: unacceptable(offers)} if offers else examples
    answers |= {
        status: {"description": HTTPStatus(status).phrase, "content": shown(status, detail)}
        for status, detail in details.items()
    }
    answers["default"] = {"description": "Any other problem", "content": shown(500, _UNEXPECTED)}
    return answers


def unknown(
    what: str, name: str, known: Iterable[str], status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY
) -> HTTPException:
    """The problem of a name of nothing, with the known names that are close, else with all."""
    names = list(known)
    close = difflib.get_close_matches(name, names)
    others = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(names)}"
    return HTTPException(status, f"no {what} {name}; {others}")


def require_known(what: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name of nothing.

    Raises:
        HTTPException: 422, as `unknown` has it.
    """
    for name in names:
        if name not in known:
            raise unknown(what, name, known)


def unexpected(error: Exception) -> HTTPException:
    """The problem of an unexpected error. The log has the error; the client gets none of it."""
    log.error("unexpected error", exc_info=error)
    return HTTPException(HTTPStatus.INTERNAL_SERVER_ERROR, _UNEXPECTED)


def install(app: FastAPI) -> None:
    """Answer every error of the application with a problem."""

    def handle(kind: type[Exception], problem: Callable[[Any], HTTPException]) -> None:
        async def handler(_: Request, error: Exception) -> Response:
            return response(problem(error))

        app.add_exception_handler(kind, handler)

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - it handles no other
        return response(_with_every_method(request, error))

    app.add_exception_handler(HTTPException, of_http)
    handle(Unseen, lambda error: HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, str(error)))
    for refusal in (Refused, UpgradeRefused, PlanRefused):
        handle(refusal, lambda error: HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)))
    handle(
        Unanswerable, lambda error: HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, f"the model has no answer: {error}")
    )
    handle(
        RequestValidationError, lambda error: HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, _sentence(error.errors()))
    )
    handle(Exception, unexpected)


def _with_every_method(request: Request, error: HTTPException) -> HTTPException:
    """405 with all methods of the path: Starlette names those of its first route."""
    if error.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
        return error
    scopes = [{**request.scope, "method": method} for method in ("GET", "POST")]
    methods = [
        scope["method"]
        for scope in scopes
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)
    ]
    return HTTPException(error.status_code, error.detail, {"Allow": ", ".join(methods)})


def _body(status: int, detail: str) -> dict[str, Any]:
    # It may quote the request, a rule of others, or what the server said.
    return ProblemDetails(
        type="about:blank", title=HTTPStatus(status).phrase, status=status, detail=visible(detail)
    ).model_dump()


def response(error: HTTPException) -> Json:
    """The problem of an error."""
    headers = dict(error.headers or {})
    if "GET" in headers.get("Allow", "").split(", "):  # the guard answers HEAD, too
        headers["Allow"] += ", HEAD"
    return Json(_body(error.status_code, error.detail), error.status_code, headers=headers, media_type=MEDIA_TYPE)


def _sentence(errors: Iterable[Mapping[str, Any]]) -> str:
    """The first error; an unknown key comes before a missing one, which is probably the same one misspelt."""
    first = min(errors, key=lambda error: error["type"] != "extra_forbidden")
    if first["type"] == "json_invalid":
        return f"the body is not JSON: {first['ctx']['error']}"
    where, *path = map(str, first["loc"])
    words = _WORDS.get(first["type"])
    if words is None:
        words = str(first["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{'.'.join(path) or f'the {where}'} {words}"
