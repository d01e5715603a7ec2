"""/runbooks/{alert}: what to do about one of Prometheus' alerts."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request, Response

from advisor.alerting.runbooks import runbooks
from advisor.http import examples, pages
from advisor.http.answers import written
from advisor.http.negotiation import negotiated
from advisor.http.problems import documented, near
from advisor.render import html

_FORMS = ("text/markdown", "text/plain", "text/html")

router = APIRouter(tags=["advice"])


@router.get(
    "/runbooks/{alert}",
    response_class=Response,
    summary="What to do about an alert",
    description="What an alert of Prometheus' rules means, and what to do: where the alert's runbook_url leads. As "
    "markdown, or as a page, as the Accept header asks.",
    response_description="The runbook.",
    responses=documented(
        {404: "no alert InnoDBDowm; did you mean InnoDBDown?", 406: f"there are {', '.join(_FORMS)}"},
        content=examples.runbook(),
    ),
)
def runbook(  # in a thread: it reads a file
    request: Request, alert: Annotated[str, Path(description="Its name.", examples=["InnoDBDown"])]
) -> Response:
    """The runbook in the form that is accepted best."""
    form, known = negotiated(request, _FORMS), runbooks()
    if alert not in known:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"no alert {alert}; {near(alert, known)}")
    if form == "text/html":
        return pages.read(alert, html.from_markdown(known[alert]), 1, request.app.state.links)
    return written(known[alert], form)
