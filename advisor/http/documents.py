"""/rules/{rule_id} and /runbooks/{alert}: the texts that findings and alerts lead to, in the form that is asked for."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import walk_tree

from advisor.casetest import cases
from advisor.casetest.cases import Case
from advisor.contract.visible import json_of
from advisor.files import yaml_file
from advisor.files.yaml_file import FileError
from advisor.http import examples, pages
from advisor.http.answers import HTML, JSON, MARKDOWN, PLAIN, negotiated, written
from advisor.http.foundation import TheRules
from advisor.http.problems import documented, unknown
from advisor.render import html
from advisor.rules import page
from advisor.rules.check import Rule
from advisor.rules.file import RuleFile
from advisor.rules.rulebook import Origin, installed

_FORMS = (JSON, "application/yaml", PLAIN, MARKDOWN, HTML)
_RUNBOOK_FORMS = (MARKDOWN, PLAIN, HTML)
_ALERTS = "## The alerts"
_SECTION = re.compile(r"^### (\w+)\n(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
_WITHIN_THE_DOCS = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")

rules = APIRouter(tags=["rules"])
runbooks = APIRouter(tags=["advice"])


def examples_of(rule: Rule) -> dict[int | str, dict[str, Any]]:
    """The example of an answer, from one of the rules in force."""
    return {200: {"content": examples.rule(rule, as_yaml(rule))}}


@rules.get(
    "/rules/{rule_id}",
    summary="One rule",
    response_model=RuleFile,
    response_description="The content of the rule's file.",
    responses=documented({404: "no rule scan-exceeds-old; did you mean scan-exceeds-old-sublist?"}, offers=_FORMS),
)
def rule(  # in a thread: it reads the file again
    request: Request,
    rule_id: Annotated[str, Path(description="Its id.", examples=["scan-exceeds-old-sublist"])],
    in_force: TheRules,
) -> Response:
    """The whole rule as it is in force, in the form that the Accept header asks for.

    As JSON, as YAML that can be a rule file again (also as plain text), or as a page in markdown or HTML.
    """
    rule_set = in_force.rule_set
    current = rule_set.rule(rule_id)
    if current is None:
        raise unknown("rule", rule_id, rule_set.origins, HTTPStatus.NOT_FOUND)
    form = negotiated(request, _FORMS)
    origin = rule_set.origins[rule_id]
    if form == HTML:
        return pages.read(current.file.title, as_page(current, origin), 1, request.app.state.links)
    if form == MARKDOWN:
        return written(as_markdown(current, origin), form)
    if form == JSON:
        return written(json_of(current.file, by_alias=True, exclude_unset=True), form)
    return written(as_yaml(current), form)


@runbooks.get(
    "/runbooks/{alert}",
    response_class=Response,
    summary="What to do about an alert",
    response_description="The runbook.",
    responses=documented(
        {404: "no alert InnoDBDowm; did you mean InnoDBDown?"},
        offers=_RUNBOOK_FORMS,
        content=examples.runbook(),
    ),
)
def runbook(  # in a thread: it reads a file
    request: Request, alert: Annotated[str, Path(description="Its name.", examples=["InnoDBDown"])]
) -> Response:
    """What an alert of Prometheus' rules means, and what to do: where the alert's runbook_url leads.

    As markdown, or as a page, as the Accept header asks.
    """
    form, texts = negotiated(request, _RUNBOOK_FORMS), read_runbooks()
    if alert not in texts:
        raise unknown("alert", alert, texts, HTTPStatus.NOT_FOUND)
    if form == HTML:
        return pages.read(alert, html.from_markdown(texts[alert]), 1, request.app.state.links)
    return written(texts[alert], form)


def read_runbooks() -> Mapping[str, str]:
    """By alert, from docs/alerting.md: its runbook in markdown, with its name as heading.

    Links to other pages of the docs are plain text.
    """
    page = installed("alerting/alerting.md", "docs/alerting.md").read_text(encoding="utf-8")
    _, _, sections = page.partition(f"\n{_ALERTS}\n")
    return {
        alert: _WITHIN_THE_DOCS.sub(r"\1", f"# {alert}\n\n{text.strip()}\n")
        for alert, text in _SECTION.findall(sections.partition("\n## ")[0])
    }


def as_markdown(rule: Rule, origin: Origin) -> str:
    """The rule's page, with what its cases show."""
    try:
        rule_cases = cases.load(rule)
    except FileError:  # a rule of the user's need not have any
        rule_cases = ()
    return page.markdown(rule, origin, [f"{case.name}: `{_recording(case)}`" for case in rule_cases])


def as_page(rule: Rule, origin: Origin) -> str:
    """The same as HTML, with the record of its proofs on real servers where it is a built-in one."""
    proved = page.proof_record(rule.id) if origin == "built-in" else None
    parts = [html.from_markdown(as_markdown(rule, origin))]
    if proved is not None:
        parts.append(html.folded("The record: on real servers, both ways", html.from_markdown(proved)))
    return "".join(parts)


def _recording(case: Case) -> str:
    """The recording of a case, such as mysql-9.7/repeated-scan."""
    return "/".join(case.recording.parent.parts[-2:])


def as_yaml(rule: Rule) -> str:
    """The rule's file; if the file has changed since it was loaded, the same content without its comments."""
    with contextlib.suppress(FileError):
        source = yaml_file.read(rule.path, RuleFile, "")
        if source.content == rule.file:
            return source.text
    out = io.StringIO()
    yaml = YAML()
    yaml.width = 120
    content = rule.file.model_dump(mode="json", by_alias=True, exclude_unset=True)
    walk_tree(content)  # texts of several lines become blocks
    yaml.dump(content, out)
    return out.getvalue()
