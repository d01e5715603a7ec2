"""The HTTP application that serves a fleet's reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fastapi import FastAPI
from prometheus_client import Metric

from advisor.contract.links import Links
from advisor.fleet import metrics
from advisor.fleet.watch import Watch
from advisor.http import fleet, health, pages, rule, runbooks
from advisor.http.exposition import Exposed
from advisor.http.foundation import Background, application
from advisor.rules.rulebook import Rulebook

_LINKS = {"/fleet": "fleet", "/docs": "API"}


def create(
    watch: Watch,
    book: Rulebook,
    background: Sequence[Background] = (),
    own: Sequence[Callable[[], Iterable[Metric]]] = (),
    links: Links | None = None,
) -> FastAPI:
    """The ASGI application, which runs the watch while it runs.

    Args:
        watch: Has the last report.
        book: The rules that it is judged by; their pages are where findings lead.
        background: What else runs meanwhile.
        own: More families for /metrics.
        links: Where people reach the service; None where that is not known.
    """

    async def families() -> list[Metric]:
        return [*metrics.families(watch, links), *(family for some in own for family in some())]

    app = application(
        "What to change on a fleet of MySQL and MariaDB servers",
        "Errors are application/problem+json (RFC 9457). Nothing here changes a server, or is connected to one.",
        (watch.run, *background),
    )
    app.state.watch, app.state.book, app.state.links, app.state.exposed = watch, book, _LINKS, Exposed(families)
    app.include_router(fleet.router)
    app.include_router(rule.router, responses=rule.examples_of(book.rules[0]))
    app.include_router(runbooks.router)
    app.include_router(health.liveness)
    app.include_router(pages.files)
    return app
