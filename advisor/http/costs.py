"""Which requests are costly, and how often each kind of them may be made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.datastructures import QueryParams
from starlette.types import Scope

from advisor.http.rate_limits import Rate


@dataclass(frozen=True, slots=True)
class Costs:
    """The limits of a service.

    Attributes:
        rates: By kind of request: the rate for each client, and for all together.
        kind: The kind of a request; one that is not in ``rates`` has no limit.
        models: The kinds that keep a core busy. Few of them are in progress at once, in a place of their own.
    """

    rates: Mapping[str, tuple[Rate, Rate]]
    kind: Callable[[Scope], str]
    models: frozenset[str] = frozenset()


UNSHARED = frozenset(("/metrics", "/healthz", "/readyz"))
"""What a Prometheus and probes ask for: no limit on requests counts it or holds it up. Connections are its bound."""
MODEL = Rate(20, 1), Rate(40, 2)
"""For what a model or a long text is made for."""
_SWEEP = Rate(40, 2), Rate(80, 4)


def _of_the_sidecar(scope: Scope) -> str:
    """Empty for /metrics, the probes, and what is remembered."""
    method, path = scope["method"], scope["path"]
    if method == "POST":
        return str(path)
    if path in ("/curve", "/series", "/statements"):
        return str(path)
    if path == "/whatif/settings":
        return "/whatif/sweep"
    if path == "/history":
        return path if "limit" in QueryParams(scope["query_string"]) else ""
    if path == "/overview":
        return path if "window" in QueryParams(scope["query_string"]) else ""
    window = (path == "/advise" or path.startswith("/advise/")) and "window" in QueryParams(scope["query_string"])
    return "/advise" if window else ""


SIDECAR = Costs(
    {
        "/whatif": MODEL,
        "/whatif/sweep": _SWEEP,
        "/curve": MODEL,
        "/advise": MODEL,
        "/history": MODEL,
        "/overview": MODEL,
        "/statements": MODEL,
        "/series": _SWEEP,
        "/-/reload": (Rate(10, 0.2), Rate(20, 0.4)),
    },
    _of_the_sidecar,
    frozenset(("/whatif", "/whatif/sweep", "/curve", "/advise")),
)


def _of_the_fleet(scope: Scope) -> str:
    path = str(scope["path"])
    return path if path in ("/fleet", "/advise") else ""


FLEET = Costs({"/fleet": MODEL, "/advise": _SWEEP}, _of_the_fleet)
