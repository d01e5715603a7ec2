"""The examples of the OpenAPI document, from captures of real servers (tests/captures), shortened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from advisor.contract.recommendation import Advice
from advisor.ledger.history import History
from advisor.pool.curve import MissCurve
from advisor.render import advice as documents
from advisor.render import models, outcomes, text
from advisor.render.markdown import markdown
from advisor.rules import page
from advisor.rules.check import Rule

_READ: dict[str, Any] = json.loads(Path(__file__).with_name("examples.json").read_text(encoding="utf-8"))
METRICS: str = _READ["metrics"]
OVERVIEW, RELOADED, RULES, SNAPSHOT, WHAT_IF, SWEEP, SETTINGS = (
    _READ[name] for name in ("overview", "reloaded", "rules", "snapshot", "what_if", "sweep", "settings")
)
EVENTS, SERIES, STATE = (_READ[name] for name in ("events", "series", "state"))
_ADVICE = _READ["advice"]
_FOUND = _ADVICE["recommendations"][0]
FINGERPRINT: str = _FOUND["fingerprint"]
_REASON = "the fingerprint a63178a321b3b23c is suppressed until 2026-12-31: the nightly report, on purpose"
_ASIDE = {"recommendation": _FOUND, "reason": _REASON}


def _text(example: str) -> dict[str, Any]:
    """A text, in the content of an endpoint."""
    return {"schema": {"type": "string"}, "example": example}


PAGE = _text("<!doctype html>")
"""A page for people."""


def advice() -> dict[str, Any]:
    """Content of /advise by media type."""
    shown = Advice.model_validate(_ADVICE)
    return {
        "application/json": {
            "examples": {
                "a setting to change": {"value": _ADVICE},
                "rules that could not see": {"value": _READ["blind"]},
            }
        },
        "text/html": PAGE,
        "text/plain": _text(text.text(documents.advice(shown))),
        "text/markdown": _text(markdown(documents.advice(shown))),
    }


def finding() -> dict[str, Any]:
    """Content of /advise/{fingerprint} by media type."""
    [shown] = Advice.model_validate(_ADVICE).recommendations
    return {
        "application/json": {
            "examples": {"made": {"value": _FOUND}, "set aside": {"value": _ASIDE}, "gone": {"value": _READ["gone"]}}
        },
        "text/plain": _text(text.text(documents.finding(shown))),
        "text/markdown": _text(markdown(documents.finding(shown))),
    }


def history() -> dict[str, Any]:
    """Content of /history by media type."""
    shown = History.model_validate(_READ["history"])
    return {
        "application/json": {"example": _READ["history"]},
        "text/plain": _text(text.text(outcomes.history(shown))),
        "text/markdown": _text(markdown(outcomes.history(shown))),
        "text/html": PAGE,
    }


def curve() -> dict[str, Any]:
    """Content of /curve by media type."""
    shown = MissCurve.model_validate(_READ["curve"])
    return {
        "application/json": {"example": _READ["curve"]},
        "image/svg+xml": _text('<svg xmlns="http://www.w3.org/2000/svg">…</svg>'),
        "text/plain": _text(text.text(models.curve(shown))),
    }


def statements() -> dict[str, Any]:
    """Content of /statements by media type."""
    shown = {"a scanned table": _READ["statements"], "without performance_schema": _READ["no_statements"]}
    return {"application/json": {"examples": {name: {"value": value} for name, value in shown.items()}}}


def runbook() -> dict[str, Any]:
    """Content of /runbooks/{alert} by media type."""
    text = _text(_READ["runbook"])
    return {"text/markdown": text, "text/plain": text, "text/html": PAGE}


def rule(shown: Rule, as_yaml: str) -> dict[str, Any]:
    """Content of /rules/{id} by media type, of one of the rules in force."""
    content = shown.file.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return {
        "application/json": {"example": content},
        "application/yaml": _text(as_yaml),
        "text/plain": _text(as_yaml),
        "text/markdown": _text(page.markdown(shown)),
        "text/html": PAGE,
    }
