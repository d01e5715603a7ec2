"""The HTTP application: advice, rules, what-if, the miss curve, /metrics and the probes, the page, /docs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from fastapi import FastAPI

from advisor.advice.metrics import Exposition
from advisor.advice.service import Service
from advisor.http import (
    advice,
    documents,
    history,
    metrics,
    model,
    pages,
    plan,
    receipt,
    rules,
    silence,
    state,
    upgrade,
)
from advisor.http.foundation import Background, application
from advisor.http.metrics import Exposed
from advisor.render import html


def create(service: Service, exposition: Exposition | None = None, background: Sequence[Background] = ()) -> FastAPI:
    """The ASGI application, which runs the service while it runs.

    Args:
        service: Has the advice.
        exposition: What /metrics shows; by default the families of snapshot and advice.
        background: What else runs meanwhile.
    """
    app = application(
        "What InnoDB is doing, and which setting to change",
        "Errors are application/problem+json (RFC 9457). Nothing here changes the server.",
        (service.run, *background),
    )
    app.state.service = service
    app.state.exposed = Exposed((exposition or Exposition(service)).families, lambda: _state(service))
    app.state.rules, app.state.links = service.rules, html.LINKS
    # Routes are tried in order. Those that have to answer within milliseconds whatever else is asked come first.
    app.include_router(metrics.liveness)
    app.include_router(metrics.router)
    app.include_router(advice.router)
    app.include_router(plan.router)
    app.include_router(receipt.router)
    app.include_router(history.router)
    app.include_router(rules.router)
    app.include_router(silence.router)
    app.include_router(documents.rules, responses=documents.examples_of(service.rules.rules[0]))
    app.include_router(documents.runbooks)
    app.include_router(state.router)
    app.include_router(model.router)
    app.include_router(upgrade.router)
    app.include_router(state.pictures)
    app.include_router(pages.index)
    app.include_router(pages.files)
    return app


def _state(service: Service) -> Hashable:
    """What /metrics is of: the last collection and the last load of the rules, successful or not."""
    latest, problems = service.source.latest, (service.source.problem, service.rules.problem)
    return latest and latest.at, service.rules.rule_set.loaded_at, *map(str, problems)
