"""/live: what is new, as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from advisor.http import examples
from advisor.http.broadcast import Broadcast, Crowded, Mark
from advisor.http.connections import PROLONG
from advisor.http.problems import documented
from advisor.http.rate_limits import retry_after

MEDIA_TYPE = "text/event-stream"
_CROWDED = "too many pages are open at once"

router = APIRouter(tags=["server"])


class EventStream(StreamingResponse):
    """A stream that is open as long as the client takes it."""

    def __init__(self, broadcast: Broadcast, since: Mark | None) -> None:
        super().__init__((), media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._broadcast, self._since = broadcast, since

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what is told until one of both ends it.

        Raises:
            HTTPException: 503; too many are open.
        """
        prolong = scope.get("state", {}).get(PROLONG, lambda: None)
        try:
            with self._broadcast.stream(self._since) as stream:
                self.body_iterator = stream.messages(prolong)
                await super().__call__(scope, receive, send)
        except Crowded:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _CROWDED, retry_after(10)) from None


async def _broadcast(request: Request) -> Broadcast:
    found: Broadcast = request.app.state.broadcast
    return found


@router.get(
    "/live",
    status_code=HTTPStatus.OK,  # FastAPI finds none in the signature of the class
    response_class=EventStream,
    summary="What is new, as it comes",
    description="Server-sent events with the answers of other paths, where there is something new: `state`, `advice`, "
    "`overview`, `series` (one time each) and `event`. A stream begins with everything as it is now. With the `id` of "
    "the last event in Last-Event-ID it goes on from there: with the events and points of series that were missed.",
    response_description="The stream; it does not end.",
    responses=documented({503: _CROWDED}, content=examples.live()),
)
async def live(
    broadcast: Annotated[Broadcast, Depends(_broadcast)],
    last_event_id: Annotated[
        str | None,
        Header(description="The id of the last event that arrived.", examples=["1795362153.3603477-1795361402.912"]),
    ] = None,
) -> EventStream:
    """A stream."""
    return EventStream(broadcast, None if last_event_id is None else Mark.read(last_event_id))
