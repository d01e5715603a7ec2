"""The pages for people at the paths where programs get data."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from urllib.parse import urljoin

import pytest

from advisor.render import html
from advisor.render.snapshot import section
from advisor.rules import check
from advisor.rules.page import proof_record
from lab.proofs.gaps import UNPROVED
from tests.advisor.building import RECORDING, RULES_FOLDER, capture
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import write_rule

SCAN = "scan-exceeds-old-sublist"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"}
PATHS = ("/rules", f"/rules/{SCAN}", "/snapshot", "/history", "/upgrade?to=26.10")
SCRIPT = "<script>alert('x')</script>"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """A sidecar with rules of a user's, and a table, whose names are HTML."""
    folder = tmp_path_factory.mktemp("sidecar")
    (folder / "rules").mkdir()
    write_rule(folder / "rules", id="mine", title=SCRIPT, why=f"{SCRIPT} [a](javascript:alert(1))")
    write_rule(folder / "rules", id="old-blocks-time-zero", title="Not the built-in one")
    text = gzip.decompress(capture(RECORDING).read_bytes()).decode()
    named = text.replace('"orders"', '"<script>orders"').replace("/shop/orders.ibd", "/shop/@003cscript@003eorders.ibd")
    (folder / "recording.jsonl").write_text(named)
    with InProcess("--recording", folder / "recording.jsonl", "--rules", folder / "rules") as sidecar:
        yield sidecar


def opened(sidecar: InProcess, path: str) -> str:
    response = sidecar.get(path, headers=BROWSER)
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html; charset=utf-8")
    return response.text


@pytest.mark.parametrize("path", PATHS)
def test_a_browser_gets_a_page_that_its_policy_shows_whole(own: InProcess, path: str) -> None:
    response = own.get(path, headers=BROWSER)
    assert "Accept" in response.headers["vary"].split(", ")
    assert response.headers["content-security-policy"] == own.get("/").headers["content-security-policy"]
    page = opened(own, path)
    assert "<style" not in page
    assert not re.search(r"<[^>]*\s(style|on\w+)=", page)
    assert not re.search(r"<script|href=\"(?!\.\.?/|https?://)", page)
    for link in {*re.findall(r"(?:src|href)=\"(\.[^\"]*)\"", page)}:  # relative: a proxy may put a path before
        assert own.get(urljoin(path, link), headers=BROWSER).status_code == 200, link


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/html;q=0.9", ""])
def test_a_program_gets_json(own: InProcess, path: str, accept: str) -> None:
    response = own.get(path, headers={"Accept": accept})
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert "Accept" in response.headers["vary"].split(", ")


def test_the_page_of_a_built_in_rule_has_its_cases_and_the_record_of_its_proofs(own: InProcess) -> None:
    rule = check.load_file(RULES_FOLDER / f"{SCAN}.yaml")
    page = opened(own, f"/rules/{SCAN}")
    assert f"<h1>{rule.file.title}</h1>" in page
    assert "fires on a table scanned repeatedly in a full pool: <code>mysql-9.7/repeated-scan</code>" in page
    proved = proof_record(SCAN)
    assert proved is not None
    assert html.from_markdown(proved).replace('href="/', 'href="../') in page
    assert "Silent afterwards, and taken back." in proved
    assert re.search(r"Measured on 20\d\d-", proved)


def test_the_page_of_a_users_rule_has_no_record_of_another(own: InProcess) -> None:
    for name in ("mine", "old-blocks-time-zero"):
        page = opened(own, f"/rules/{name}")
        assert "your own" in page
        assert "The record" not in page
    assert "Not the built-in one" in opened(own, "/rules/old-blocks-time-zero")
    assert proof_record("mine") is None


def test_names_and_texts_are_shown_as_text(own: InProcess) -> None:
    assert "&lt;script&gt;alert" in opened(own, "/rules")
    mine = opened(own, "/rules/mine")
    assert "<h1>&lt;script&gt;alert" in mine
    assert 'href="javascript' not in mine
    assert "&lt;script&gt;orders" in opened(own, "/snapshot")


HOSTILE = "%3Cscript%3Ealert(1)%3C/script%3E%22'%0d%0aX:%20y"


@pytest.mark.parametrize("path", [f"/rules/{HOSTILE}", f"/advise/{HOSTILE}", f"/{HOSTILE}", "/advise?window=%22%7D%5D"])
def test_what_is_in_an_address_is_shown_as_text_and_splits_nothing(own: InProcess, path: str) -> None:
    for accept in ("text/html", "application/json"):
        response = own.get(path, headers={"Accept": accept})
        assert "x" not in response.headers
        if response.headers["content-type"].startswith("text/html"):
            assert "<script>alert" not in response.text
        elif response.content:
            assert isinstance(response.json(), dict)


def test_the_rules_are_listed_with_what_they_say_now(own: InProcess) -> None:
    page = opened(own, "/rules")
    now = {rule["id"]: rule for rule in own.get("/rules").json()["rules"]}
    rows = re.findall(r"<tr><td[^>]*><a href=\"\./rules/([^\"]*)\">.*?</tr>", page)
    assert rows == list(now)
    state = rf'<td[^>]*>(<a href="\./">firing</a>|{now[SCAN]["state"]})</td>'
    assert re.search(rf'{SCAN}</a></td><td class="read-short" data-of="severity">warning</td>{state}', page)


def test_the_snapshot_is_folded_by_section_and_says_what_could_not_be_read(without_sources: InProcess) -> None:
    page, snapshot = opened(without_sources, "/snapshot"), without_sources.get("/snapshot").json()
    folded = re.findall(r"<details><summary>(\w+)", page)
    sections = [
        name for name, value in snapshot.items() if name not in ("at", "server", "account", "outcomes", "read_at")
    ]
    assert {*folded} >= {name for name in sections if snapshot[name] is not None}
    assert '<td data-of="why not">performance_schema is OFF</td>' in page
    assert "add performance_schema = ON to the server&#x27;s option file" in page
    page_size = snapshot["variables"]["innodb_page_size"]
    assert f'>innodb_page_size</td><td class="read-short" data-of="value">{page_size}</td>' in page


def test_a_long_section_says_how_many_rows_are_left_out() -> None:
    shown = html.fragment((section("indexes", [{"name": str(number)} for number in range(502)]),))
    assert shown.count("<tr><td") == 500
    assert "2 more are in the JSON." in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <b>c</b> & d", "<p>a &lt;b&gt;c&lt;/b&gt; &amp; d</p>\n"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>\n"),
        ("# `a`", "<h1><code>a</code></h1>\n"),
    ],
)
def test_markdown_becomes_html_without_foreign_markup(text: str, shown: str) -> None:
    assert html.from_markdown(text) == shown


def test_a_column_of_numbers_is_aligned_without_a_style_attribute() -> None:
    shown = html.from_markdown("| a | b |\n| --- | ---: |\n| c | 1 |")
    assert 'style="' not in shown
    assert '<td class="read-number">1</td>' in shown


def test_a_record_is_there_for_every_rule_that_a_server_here_can_provoke() -> None:
    without = {rule.id for rule in check.load(RULES_FOLDER) if proof_record(rule.id) is None}
    assert without == set(UNPROVED)
