"""/advise/{fingerprint}/plan: its forms, the owners to choose from, a manifest, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

import pytest

from advisor.contract.plan import Plan, TargetName
from advisor.contract.recommendation import Recommendation
from advisor.plan.plan import plan
from advisor.render import plan as documents
from advisor.render import text
from advisor.render.markdown import markdown
from tests.advisor.building import RECORDING, advised, capture, captured
from tests.advisor.http.test_api_people import BROWSER
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem
from tests.waiting import wait_for

MY_CNF = "[mysqld]\ninnodb_old_blocks_pct = 37\n"


@pytest.fixture(scope="module")
def sidecar() -> Iterator[InProcess]:
    with InProcess("--recording", capture(RECORDING)) as started:
        wait_for(started.judged)
        yield started


@pytest.fixture(scope="module")
def finding() -> Recommendation:
    [finding] = advised(captured(RECORDING)).recommendations
    return finding


@pytest.mark.parametrize(
    ("accept", "form", "written"),
    [
        ("text/plain", "text/plain", lambda answer: text.text(documents.plan(answer))),
        ("text/markdown", "text/markdown", lambda answer: markdown(documents.plan(answer))),
    ],
)
def test_a_person_gets_the_plan_in_words(
    sidecar: InProcess, finding: Recommendation, accept: str, form: str, written: Callable[[Plan], str]
) -> None:
    path = f"/advise/{finding.fingerprint}/plan?for=cnf"
    answer = Plan.model_validate_json(sidecar.get(path).content)
    assert answer == plan(finding, captured(RECORDING), "cnf")
    response = sidecar.get(path, headers={"Accept": accept})
    assert response.headers["content-type"].partition(";")[0] == form
    assert response.text == written(answer)


def test_a_browser_gets_a_page_of_it_and_without_an_owner_a_page_of_owners(
    sidecar: InProcess, finding: Recommendation
) -> None:
    path = f"/advise/{finding.fingerprint}/plan"
    page = sidecar.get(f"{path}?for=cnf", headers=BROWSER)
    assert page.headers["content-security-policy"] == sidecar.get("/").headers["content-security-policy"]
    assert '<h2 id="the-way-back">' in page.text
    owners = sidecar.get(path, headers=BROWSER).text
    names: tuple[TargetName, ...] = get_args(TargetName)
    for name in names:
        assert f'<a href="../../advise/{finding.fingerprint}/plan?for={name}">{name}</a>' in owners


def test_a_manifest_is_the_body(sidecar: InProcess, finding: Recommendation) -> None:
    path = f"/advise/{finding.fingerprint}/plan?for=cnf"
    answer = Plan.model_validate_json(sidecar.post(path, content=MY_CNF).content)
    [change] = finding.changes
    assert answer.steps[0].patch is not None
    assert answer.steps[0].patch.text == f"[mysqld]\ninnodb_old_blocks_pct = {change.to}\n"
    assert problem(sidecar.post(path)) == (422, "the body is empty: without an object of today, use GET")
    assert problem(sidecar.post(path, content=b"\xff")) == (422, "the body is not UTF-8 text")


@pytest.mark.parametrize(
    ("query", "status", "detail"),
    [
        ("", 422, "for is missing: an owner of settings such as cnf"),
        ("?for=", 422, "for must be "),
        ("?for=mariadb-operator", 422, "--for mariadb-operator is for MariaDB; "),
        ("?for=cnf&window=0", 422, "window must be greater than 0"),
    ],
)
def test_what_has_no_plan_is_refused_with_a_sentence(
    sidecar: InProcess, finding: Recommendation, query: str, status: int, detail: str
) -> None:
    answer = problem(sidecar.get(f"/advise/{finding.fingerprint}/plan{query}"))
    assert answer[0] == status
    assert answer[1].startswith(detail)


def test_an_unknown_fingerprint_has_no_plan(sidecar: InProcess) -> None:
    status, detail = problem(sidecar.get("/advise/9f2c/plan?for=cnf"))
    assert (status, detail) == (404, "nothing that is found now has the fingerprint 9f2c; /advise has all there is")


def test_another_method_is_told_all_that_there_are(sidecar: InProcess, finding: Recommendation) -> None:
    response = sidecar.request("DELETE", f"/advise/{finding.fingerprint}/plan")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, POST, HEAD")
