"""GET /upgrade: its forms, the versions to choose from, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from advisor.contract.upgrade import UpgradeForecast
from advisor.render import text
from advisor.render import upgrade as documents
from advisor.render.markdown import markdown
from advisor.upgrade.target import releases
from tests.advisor.building import capture, captured
from tests.advisor.http.test_api_people import BROWSER
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem
from tests.waiting import wait_for

NAME = "mysql-8.0/counted-beside-index"


@pytest.fixture(scope="module")
def sidecar() -> Iterator[InProcess]:
    with InProcess("--recording", capture(NAME)) as started:
        wait_for(started.judged)
        yield started


@pytest.mark.parametrize(
    ("accept", "form", "written"),
    [
        ("text/plain", "text/plain", lambda answer: text.text(documents.forecast(answer))),
        ("text/markdown", "text/markdown", lambda answer: markdown(documents.forecast(answer))),
    ],
)
def test_a_person_gets_the_forecast_in_words(
    sidecar: InProcess, accept: str, form: str, written: Callable[[UpgradeForecast], str]
) -> None:
    answer = UpgradeForecast.model_validate_json(sidecar.get("/upgrade?to=8.4").content)
    assert answer.to == "mysql 8.4"
    response = sidecar.get("/upgrade?to=8.4", headers={"Accept": accept})
    assert response.headers["content-type"].partition(";")[0] == form
    assert response.text == written(answer)


def test_a_browser_gets_a_page_of_it_and_without_a_version_a_page_of_versions(sidecar: InProcess) -> None:
    page = sidecar.get("/upgrade?to=8.4", headers=BROWSER).text
    assert '<h2 id="what-would-not-start">' in page
    versions = sidecar.get("/upgrade", headers=BROWSER)
    assert versions.headers["content-security-policy"] == sidecar.get("/").headers["content-security-policy"]
    for version in releases(captured(NAME).latest.server):
        assert f'<a href="./upgrade?to={version}">{version}</a>' in versions.text
        assert sidecar.get(f"/upgrade?to={version}").status_code == 200, version


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("", "to is missing: a version such as 8.4"),
        ("?to=", "'' is not a version"),
        ("?to=8.0.43", "the server has 8.0.43 already: "),
        ("?to=5.7", "5.7 is older than the server's 8.0.43: "),
        ("?to=11.8", "11.8 is a version of MariaDB, and this server is MySQL: "),
        ("?to=8.4&window=0", "window must be greater than 0"),
        ("?to=8.4&option_file=x", "option_file is not known here"),
    ],
)
def test_what_has_no_forecast_is_refused_with_a_sentence(sidecar: InProcess, query: str, detail: str) -> None:
    status, message = problem(sidecar.get(f"/upgrade{query}"))
    assert status == 422
    assert message.startswith(detail)


def test_a_server_that_was_never_seen_has_no_forecast(away: InProcess) -> None:
    for path in ("/upgrade", "/upgrade?to=8.4"):
        status, message = problem(away.get(path, headers=BROWSER))
        assert status == 503
        assert "127.0.0.1:1" in message
