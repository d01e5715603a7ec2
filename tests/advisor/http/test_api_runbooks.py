"""/runbooks over HTTP: each alert's, as markdown and as a page."""

from __future__ import annotations

import re

import pytest
from ruamel.yaml import YAML

from advisor.http.documents import read_runbooks
from tests.advisor.building import REPOSITORY
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem

FOLDER = REPOSITORY / "charts" / "innodb-advisor" / "alerts"
ALERTS = [
    rule["alert"]
    for path in FOLDER.glob("*.yaml")
    for group in YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
    if "alert" in rule
]
BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"


def test_each_alert_has_a_runbook_that_says_what_to_do() -> None:
    assert set(read_runbooks()) == set(ALERTS)
    for alert, text in read_runbooks().items():
        assert text.startswith(f"# {alert}\n")
        assert "**Do:**" in text
        assert not re.search(r"\]\((?!https?:)", text), "a link that leads nowhere outside the docs"
        assert text.count("\n#") == 0, "ends before the next section"


@pytest.mark.parametrize("alert", ["InnoDBDown", "InnoDBAdvisorNotificationsFailing"])
def test_a_runbook_is_a_page_for_a_browser_and_markdown_for_a_program(replaying: InProcess, alert: str) -> None:
    page = replaying.get(f"/runbooks/{alert}", headers={"Accept": BROWSER})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert f"<h1>{alert}</h1>" in page.text
    assert "<strong>Do:</strong>" in page.text
    assert page.headers["content-security-policy"] == replaying.get("/").headers["content-security-policy"]
    text = replaying.get(f"/runbooks/{alert}")
    assert text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert text.text == read_runbooks()[alert]
    for answer in (page, text):
        assert "Accept" in answer.headers["vary"].split(", ")


def test_what_is_no_alert_is_refused_with_the_nearest(replaying: InProcess) -> None:
    assert problem(replaying.get("/runbooks/InnoDBDowm")) == (404, "no alert InnoDBDowm; did you mean InnoDBDown?")
    status, message = problem(replaying.get("/runbooks/InnoDBDown", headers={"Accept": "image/png"}))
    assert (status, message) == (406, "not acceptable; available: text/markdown, text/plain, text/html")
