"""The examples of the OpenAPI document, from captures of real servers (tests/captures), shortened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from advisor.contract.plan import Plan
from advisor.contract.recommendation import Advice, Recommendation
from advisor.contract.upgrade import UpgradeForecast
from advisor.http.answers import HTML, JSON, MARKDOWN, PLAIN
from advisor.ledger.history import History
from advisor.ledger.ledger import Ledger
from advisor.plan.receipt import receipt as receipt_of
from advisor.pool.curve import MissCurve
from advisor.render import advice as documents
from advisor.render import models, outcomes, text
from advisor.render import plan as plan_documents
from advisor.render import receipt as receipt_documents
from advisor.render import upgrade as upgrade_documents
from advisor.render.blocks import TextDocument
from advisor.render.markdown import markdown
from advisor.rules import page
from advisor.rules.check import Rule

_READ: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_text(encoding="utf-8"))
METRICS: str = _READ["metrics"]
OVERVIEW, RELOADED, RULES, SILENCE, SNAPSHOT, WHAT_IF, SWEEP, SETTINGS = (
    _READ[name] for name in ("overview", "reloaded", "rules", "silence", "snapshot", "what_if", "sweep", "settings")
)
EVENTS, SERIES, STATE = (_READ[name] for name in ("events", "series", "state"))
_ADVICE = _READ["advice"]
_FINDING = _ADVICE["recommendations"][0]
FINGERPRINT: str = _FINDING["fingerprint"]
_REASON = "the fingerprint a63178a321b3b23c is suppressed until 2026-12-31: the nightly report, on purpose"


def _text(example: str) -> dict[str, Any]:
    """A text, in the content of an endpoint."""
    return {"schema": {"type": "string"}, "example": example}


PAGE = _text("<!doctype html>")
"""A page for people."""


def _content(named: Mapping[str, Any], document: TextDocument) -> dict[str, Any]:
    """JSON answers by name, and the document of the first one as plain text and as markdown."""
    return {
        JSON: {"examples": {name: {"value": value} for name, value in named.items()}},
        PLAIN: _text(text.text(document)),
        MARKDOWN: _text(markdown(document)),
    }


def advice() -> dict[str, Any]:
    """Content of /advise by media type."""
    named = {"a setting to change": _ADVICE, "rules that could not see": _READ["blind"]}
    return {**_content(named, documents.advice(Advice.model_validate(_ADVICE))), HTML: PAGE}


def finding() -> dict[str, Any]:
    """Content of /advise/{fingerprint} by media type."""
    aside = {"recommendation": _FINDING, "reason": _REASON}
    named = {"made": _FINDING, "set aside": aside, "gone": _READ["gone"]}
    return _content(named, documents.finding(Recommendation.model_validate(_FINDING)))


def history() -> dict[str, Any]:
    """Content of /history by media type."""
    answer = _READ["history"]
    return {**_content({"a change": answer}, outcomes.history(History.model_validate(answer))), HTML: PAGE}


def receipt() -> dict[str, Any]:
    """Content of /advise/{fingerprint}/receipt by media type, of the finding and the change of /history's example."""
    remembered = History.model_validate(_READ["history"])
    answer = receipt_of(Ledger.of((*remembered.findings, *remembered.outcomes)), FINGERPRINT)
    assert answer is not None  # noqa: S101 - the same finding
    content = _content({"kept": answer.model_dump(mode="json")}, receipt_documents.receipt(answer))
    return {**content, HTML: PAGE}


def curve() -> dict[str, Any]:
    """Content of /curve by media type."""
    answer = _READ["curve"]
    return {
        JSON: {"example": answer},
        "image/svg+xml": _text('<svg xmlns="http://www.w3.org/2000/svg">…</svg>'),
        PLAIN: _text(text.text(models.curve(MissCurve.model_validate(answer)))),
    }


def upgrade() -> dict[str, Any]:
    """Content of /upgrade by media type."""
    answer = _READ["upgrade"]
    document = upgrade_documents.forecast(UpgradeForecast.model_validate(answer))
    return {**_content({"an upgrade of MySQL 8.0": answer}, document), HTML: PAGE}


def plan() -> dict[str, Any]:
    """Content of /advise/{fingerprint}/plan by media type."""
    answer = _READ["plan"]
    return {
        **_content({"a patch for an operator": answer}, plan_documents.plan(Plan.model_validate(answer))),
        HTML: PAGE,
    }


def statements() -> dict[str, Any]:
    """Content of /statements by media type."""
    named = {"a scanned table": _READ["statements"], "without performance_schema": _READ["no_statements"]}
    return {JSON: {"examples": {name: {"value": value} for name, value in named.items()}}}


def runbook() -> dict[str, Any]:
    """Content of /runbooks/{alert} by media type."""
    markdown_text = _text(_READ["runbook"])
    return {MARKDOWN: markdown_text, PLAIN: markdown_text, HTML: PAGE}


def rule(in_force: Rule, as_yaml: str) -> dict[str, Any]:
    """Content of /rules/{id} by media type, of one of the rules in force."""
    content = in_force.file.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {
        JSON: {"example": content},
        "application/yaml": _text(as_yaml),
        PLAIN: _text(as_yaml),
        MARKDOWN: _text(page.markdown(in_force)),
        HTML: PAGE,
    }
