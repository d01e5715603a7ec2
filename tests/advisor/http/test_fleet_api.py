"""The service of a fleet over HTTP: what the last report says, also while Prometheus is away."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from advisor.contract.fleet import FleetAdvice, FleetReport, ServedReport, Source
from advisor.contract.links import Links
from advisor.fleet.client import QueryError
from advisor.fleet.progress import Progress
from advisor.fleet.watch import FleetWatch
from advisor.http import fleet as service
from advisor.http.guard import Guard
from advisor.http.limits import Limits
from advisor.render import html
from advisor.rules.rulebook import Rulebook
from tests.advisor.building import RULES_FOLDER
from tests.advisor.fleet import reports
from tests.advisor.http.standing import still

REPORT = reports.with_gaps()
BROWSER = {"Accept": "text/html"}
ONE = "eu/mysql-9.7/repeated-scan/0"


class Fleet:
    """A service, and what its Prometheus answers."""

    def __init__(self, report: FleetReport = REPORT) -> None:
        self.now = reports.AT + 90.0
        self.answer: FleetReport | Exception = report
        self.watch = FleetWatch(self._read, 300, clock=lambda: self.now)
        app = service.create(self.watch, Rulebook(RULES_FOLDER), links=Links("https://fleet.example"))
        app.state.limits = Limits(clock=still)
        transport = httpx.ASGITransport(Guard(app), client=("192.0.2.1", 1))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://fleet")

    async def _read(self, _: Progress) -> FleetReport:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def goes_away(self) -> None:
        self.answer = QueryError("cannot connect to prometheus:9090: Connection refused")
        self.now += 600
        await self.watch.look()


@pytest.fixture
async def fleet() -> AsyncIterator[Fleet]:
    made = Fleet()
    async with made.http:
        yield made


@pytest.fixture
async def read(fleet: Fleet) -> Fleet:
    await fleet.watch.look()
    return fleet


async def test_it_is_ready_after_the_first_reading(fleet: Fleet) -> None:
    for path in ("/readyz", "/fleet", "/advise"):
        answer = await fleet.http.get(path)
        assert (answer.status_code, answer.json()["detail"]) == (503, "the first reading of the fleet is not done yet")
    assert (await fleet.http.get("/healthz")).text == "ok\n"
    await fleet.goes_away()
    answer = await fleet.http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["detail"].startswith("no new report since 2025-11-23 12:11:30 UTC: cannot connect to")
    fleet.answer = REPORT
    await fleet.watch.look()
    assert (await fleet.http.get("/readyz")).text == "ok\n"


async def test_programs_get_the_whole_report_and_its_age(read: Fleet) -> None:
    served = ServedReport.model_validate_json((await read.http.get("/fleet")).text)
    assert FleetReport.model_validate({name: getattr(served, name) for name in FleetReport.model_fields}) == REPORT
    assert (served.age_seconds, served.every_seconds, served.problem, served.problem_since) == (90, 300, None, None)


async def test_while_prometheus_is_away_the_last_report_says_how_old_it_is(read: Fleet) -> None:
    await read.goes_away()
    ready = await read.http.get("/readyz")
    assert ready.status_code == 200
    assert "ok, but no new report since 2025-11-23 12:11:30 UTC: cannot connect to prometheus:9090" in ready.text
    assert "what is shown is 12 min old" in ready.text
    for path in ("/fleet", "/advise"):
        served = (await read.http.get(path)).json()
        assert served["problem"] == "cannot connect to prometheus:9090: Connection refused"
        assert (served["age_seconds"], served["problem_since"]) == (690, reports.AT + 690)
        page = (await read.http.get(path, headers=BROWSER)).text
        assert '<body class="read read-old">' in page
        assert "cannot connect to prometheus:9090: Connection refused; what is shown is" in page
    read.answer = REPORT
    await read.watch.look()
    assert "read-old" not in (await read.http.get("/fleet", headers=BROWSER)).text.partition("<body")[2]


async def test_browsers_get_pages_that_run_nothing_and_lead_to_each_server(read: Fleet) -> None:
    assert (await read.http.get("/")).headers["location"] == "fleet"
    answer = await read.http.get("/fleet", headers=BROWSER)
    assert answer.headers["content-security-policy"] == f"{html.policy()}; frame-ancestors 'none'"
    assert "Accept" in answer.headers["vary"].split(", ")
    assert "<script" not in answer.text
    leads = set(re.findall(r'href="(advise\?server=[^"]*)"', answer.text))
    assert len(leads) == len({finding.server for finding in REPORT.findings})
    for path in leads:
        page = await read.http.get(f"/{path}", headers=BROWSER)
        assert page.status_code == 200
        assert '<article class="finding' in page.text


async def test_advice_is_that_of_the_server_and_the_rule_that_are_asked_for(read: Fleet) -> None:
    everything = FleetAdvice.model_validate_json((await read.http.get("/advise")).text)
    assert (everything.findings, everything.servers) == (REPORT.findings, len(REPORT.servers))
    assert everything.not_asked == REPORT.not_asked
    one = FleetAdvice.model_validate_json((await read.http.get("/advise", params={"server": ONE})).text)
    assert one.server == REPORT.servers[0]
    assert {finding.server for finding in one.findings} == {ONE}
    assert (one.not_asked, one.vanished, one.not_modelled) == ((), (), (ONE,))
    rule = REPORT.findings[0].rule
    of_rule = FleetAdvice.model_validate_json((await read.http.get("/advise", params={"rule": rule})).text)
    assert of_rule.findings == tuple(finding for finding in REPORT.findings if finding.rule == rule)
    severe = FleetAdvice.model_validate_json((await read.http.get("/advise", params={"severity": "warning"})).text)
    assert {finding.severity for finding in severe.findings} == {"warning"}


async def test_of_a_server_that_was_not_asked_the_reason_is_told(read: Fleet) -> None:
    served = (await read.http.get("/advise", params={"server": "eu/a/b/c"})).json()
    assert (served["servers"], served["findings"], served["server"]) == (0, [], None)
    assert served["not_asked"] == [{"servers": ["eu/a/b/c"], "reason": "HTTP 422: query would load too many samples"}]
    gone = (await read.http.get("/advise", params={"server": "eu/gone/db/1"})).json()
    assert gone["vanished"] == [{"server": "eu/gone/db/1", "at": reports.AT - 1800}]
    page = await read.http.get("/advise", params={"server": "eu/a/b/c"}, headers=BROWSER)
    assert "HTTP 422: query would load too many samples" in page.text


async def test_what_is_in_an_address_is_shown_as_text(read: Fleet) -> None:
    hostile = "%3Cscript%3Ealert(1)%3C/script%3E%22'%0d%0aX:%20y"
    for path in (f"/rules/{hostile}", f"/{hostile}", f"/advise?server={hostile}"):
        for accept in ("text/html", "application/json"):
            answer = await read.http.get(path, headers={"Accept": accept})
            assert "x" not in answer.headers
            assert "html" not in answer.headers["content-type"] or "<script>alert" not in answer.text


async def test_names_of_nothing_are_refused(read: Fleet) -> None:
    answer = await read.http.get("/advise", params={"server": "repeated-scan"})
    assert (answer.status_code, answer.json()["detail"]) == (404, f"no server repeated-scan; did you mean {ONE}?")
    assert (await read.http.get("/advise", params={"server": "x" * 5000})).status_code == 404
    assert (await read.http.get("/advise", params={"rule": "scan-exceeds-old"})).status_code == 422
    assert (await read.http.get("/advise", params={"servr": ONE})).status_code == 422
    assert (await read.http.get("/advise", params={"severity": "worst"})).status_code == 422
    assert (await read.http.get("/fleet", headers={"Accept": "image/png"})).status_code == 406
    for path in ("/whatif", "/-/reload", "/fleet"):  # it has nothing to ask or to reload
        assert (await read.http.post(path)).status_code in {404, 405}
    unfound = (await read.http.get("/advise", params={"rule": "parallel-read-threads-over-cores"})).json()
    assert unfound["findings"] == []


async def test_a_rule_of_a_sidecars_own_can_be_asked_for(fleet: Fleet) -> None:
    finding = REPORT.findings[0].model_copy(update={"rule": "their-own", "source": Source.VERDICT})
    rules = (REPORT.rules[0].model_copy(update={"rule": "their-own", "title": ""}),)
    fleet.answer = REPORT.model_copy(update={"findings": (finding,), "rules": rules})
    await fleet.watch.look()
    served = (await fleet.http.get("/advise", params={"rule": "their-own"})).json()
    assert [finding["rule"] for finding in served["findings"]] == ["their-own"]


async def test_findings_lead_to_the_rules_and_alerts_to_their_runbooks(read: Fleet) -> None:
    rule = await read.http.get(f"/rules/{REPORT.findings[0].rule}", headers=BROWSER)
    assert rule.status_code == 200
    assert 'href="../fleet"' in rule.text
    assert 'href="../snapshot"' not in rule.text
    for alert in ("InnoDBAdvice", "InnoDBFleetNotRead", "InnoDBFleetServersNotAsked"):
        assert (await read.http.get(f"/runbooks/{alert}")).status_code == 200
    assert 'innodb_fleet_page_info{url="https://fleet.example"} 1.0' in (await read.http.get("/metrics")).text


async def test_the_api_documents_itself(read: Fleet) -> None:
    paths = (await read.http.get("/openapi.json")).json()["paths"]
    assert set(paths) == {
        "/fleet",
        "/advise",
        "/metrics",
        "/readyz",
        "/healthz",
        "/rules/{rule_id}",
        "/runbooks/{alert}",
    }
    assert (await read.http.get("/docs")).status_code == 200


async def test_metrics_are_of_the_fleet_in_both_forms(read: Fleet) -> None:
    for accept in ("text/plain", "application/openmetrics-text"):
        answer = await read.http.get("/metrics", headers={"Accept": accept})
        assert answer.headers["content-type"].startswith(accept)
        assert 'innodb_fleet_servers{source="peer"} 3.0' in answer.text
        assert "innodb_fleet_prometheus_up 1.0" in answer.text
        assert ONE not in answer.text


async def test_what_is_costly_is_limited(read: Fleet) -> None:
    answers = [(await read.http.get("/fleet")).status_code for _ in range(30)]
    assert answers == [200] * 20 + [429] * 10
    assert (await read.http.get("/metrics")).status_code == 200
    assert (await read.http.get("/readyz")).status_code == 200
