"""Faults of servers, of a Prometheus, and between it and us: a clear statement each, and never a wrong number."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator

import pytest

from advisor.contract.fleet import FleetReport
from advisor.fleet.client import QueryError
from advisor.fleet.windows import ONLY_DOWNSAMPLED
from tests.advisor.fleet.answering import Form, error, plain, vector
from tests.fleet import faulty
from tests.fleet.faulty import COARSE, END, FINE, SOUND, Reply, proxy, reading

WASTED = "read-ahead-wasted"
Truly = Callable[[], Reply]


PROMETHEUS, VICTORIAMETRICS = "prometheus", "victoriametrics"
on_both = pytest.mark.parametrize("upstream", [PROMETHEUS, VICTORIAMETRICS], indirect=True, scope="module")
"""Where they may differ; elsewhere VictoriaMetrics says the same again."""


@pytest.fixture(scope="module", params=[PROMETHEUS, pytest.param(VICTORIAMETRICS, marks=pytest.mark.long)])
def upstream(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    running = {PROMETHEUS: faulty.in_prometheus, VICTORIAMETRICS: faulty.in_victoriametrics}[request.param]
    with running(tmp_path_factory.mktemp(request.param)) as url:
        yield url


@pytest.fixture(scope="module")
def sound(upstream: str) -> FleetReport:
    """What is said without a fault between."""
    return reading(upstream)


def findings(report: FleetReport) -> dict[str, list[object]]:
    """Everything of the findings, by server."""
    findings_by_server: dict[str, list[object]] = {}
    for finding in report.findings:
        findings_by_server.setdefault(finding.server, []).append(finding.model_dump())
    return findings_by_server


def left_out(report: FleetReport) -> dict[str, str]:
    return {server: group.reason for group in report.not_asked for server in group.servers}


def hold(report: FleetReport, sound: FleetReport) -> None:
    """No finding that is not true; where one lacks, something says so."""
    true, reported = findings(sound), findings(report)
    undecided = {server.name: server.undecided for server in report.servers}
    for server, expected in true.items():
        if reported.get(server) != expected:
            assert server not in reported
            assert server in left_out(report) or WASTED in undecided.get(server, ()) or report.warnings, server
    assert set(reported) <= set(true)


def of_many(form: Form, servers: int = 1) -> bool:
    """Whether a query is about more servers by name."""
    return form["query"].count(":9104") > servers * max(form["query"].count("instance=~"), 1)


@on_both
def test_each_server_in_trouble_is_said_to_be_and_the_others_are_right(sound: FleetReport) -> None:
    reported = findings(sound)
    assert set(reported) == SOUND | COARSE
    for server in SOUND:
        [finding] = [finding for finding in sound.findings if finding.server == server]
        seconds = 3600.0 if server != "restarted-long-ago" else 2250.0
        values = {item.name: item.value for item in finding.evidence}
        assert finding.rule == WASTED
        assert finding.scrape_interval_seconds == pytest.approx(15.0, rel=0.02)
        assert values["pages_read_ahead"] == pytest.approx(120 * seconds, rel=0.01)
        assert values["pages_evicted_without_access"] == pytest.approx(50 * seconds, rel=0.01)
    assert {finding.scrape_interval_seconds for finding in sound.findings if finding.server in COARSE} == {300.0}
    [reset] = [server for server in sound.servers if server.name == "reset"]
    assert WASTED in reset.undecided
    reasons = left_out(sound)
    assert "identity is not unique: twins:9104 and twins:9105" in reasons["twins"]
    assert reasons["restarted-lately"] == "not long enough since the restart"
    assert {gone.server: gone.at for gone in sound.vanished}["gone"] == pytest.approx(END - 1200, abs=60)


def test_a_pair_of_prometheus_is_one_server(sound: FleetReport) -> None:
    [pair] = [server for server in sound.servers if server.name == "pair"]
    assert len(findings(sound)["pair"]) == 1
    assert pair.undecided == next(server for server in sound.servers if server.name == "fine-0").undecided


@on_both
def test_a_limit_is_met_by_asking_for_fewer_servers(upstream: str, sound: FleetReport) -> None:
    def limited(form: Form, truly: Truly) -> Reply:
        if of_many(form, 3):
            return plain(error("execution", "query processing would load too many samples into memory"), 422)
        return truly()

    with proxy(upstream, limited) as between:
        report = reading(between.url)
    assert findings(report) == findings(sound)
    assert report.not_asked == sound.not_asked


def test_one_server_beyond_a_limit_is_left_out_with_the_error(upstream: str, sound: FleetReport) -> None:
    def limited(form: Form, truly: Truly) -> Reply:
        about = "fine-2" in form["query"]
        return plain(error("execution", "the query hit the limit of 10 series"), 422) if about else truly()

    with proxy(upstream, limited) as between:
        report = reading(between.url)
    assert "hit the limit of 10 series" in left_out(report)["fine-2"]
    assert findings(report) == {name: of_server for name, of_server in findings(sound).items() if name != "fine-2"}


@pytest.mark.parametrize("mark", [{"warnings": ["store gateway 2 is away"]}, {"isPartial": True}])
def test_part_of_an_answer_is_no_answer(upstream: str, sound: FleetReport, mark: dict[str, object]) -> None:
    def partial(form: Form, truly: Truly) -> Reply:
        status, headers, body = truly()
        answer = json.loads(body)
        if ":9104" in form["query"]:
            answer |= mark
            answer["data"]["result"] = answer["data"]["result"][::2]
        return status, headers, json.dumps(answer).encode()

    with proxy(upstream, partial) as between:
        report = reading(between.url)
    assert findings(report) == {}
    assert all("incomplete answer" in left_out(report)[server] for server in SOUND)
    hold(report, sound)


def test_a_server_that_lacks_in_half_an_inventory_is_not_vanished(upstream: str) -> None:
    def partial(form: Form, truly: Truly) -> Reply:
        status, headers, body = truly()
        answer = json.loads(body)
        if "innodb_up|mysql_up" in form["query"]:
            answer |= {"warnings": ["store gateway 2 is away"]}
            answer["data"]["result"] = answer["data"]["result"][:3]
        return status, headers, json.dumps(answer).encode()

    with proxy(upstream, partial) as between:
        report = reading(between.url)
    assert report.vanished == ()
    assert "store gateway 2 is away" in report.warnings
    assert any("the inventory is incomplete" in warning for warning in report.warnings)


def test_downsampled_data_alone_are_said_to_be_and_enter_no_number(upstream: str, sound: FleetReport) -> None:
    """A Thanos with five minutes of raw data: it leaves out older points, unless downsampled data are asked for."""

    def thanos(form: Form, truly: Truly) -> Reply:
        status, headers, body = truly()
        if "start" not in form or form["max_source_resolution"] != "0s":
            return status, headers, body
        answer = json.loads(body)
        for series in answer["data"]["result"]:
            series["values"] = [point for point in series["values"] if point[0] > END - 300.0]
        answer["data"]["result"] = [series for series in answer["data"]["result"] if series["values"]]
        return status, headers, json.dumps(answer).encode()

    with proxy(upstream, thanos) as between:
        report = reading(between.url)
    assert report.findings == ()
    reasons = left_out(report)
    assert {reasons[name] for name in SOUND} == {ONLY_DOWNSAMPLED}
    assert reasons["restarted-lately"] == ONLY_DOWNSAMPLED
    assert ONLY_DOWNSAMPLED not in left_out(sound).values()


def test_slow_queries_are_asked_for_fewer_servers_and_then_left_out(upstream: str, sound: FleetReport) -> None:
    def slow(form: Form, truly: Truly) -> Reply:
        if of_many(form) or "fine-1" in form["query"]:
            return plain(error("timeout", "query timed out in expression evaluation"), 503)
        return truly()

    with proxy(upstream, slow) as between:
        report = reading(between.url, selector='instance=~"fine-.*"')
    assert left_out(report) == {"fine-1": "HTTP 503, timeout: query timed out in expression evaluation"}
    assert findings(report) == {name: findings(sound)[name] for name in FINE - {"fine-1"}}


def test_a_prometheus_that_is_down_is_no_report(upstream: str) -> None:
    with proxy(upstream, lambda _, truly: truly()) as between:
        pass
    with pytest.raises(QueryError, match="cannot connect"):
        reading(between.url)


def test_a_clock_that_is_off_is_said_and_times_are_of_prometheus(upstream: str, sound: FleetReport) -> None:
    def dated(form: Form, truly: Truly) -> Reply:
        return plain(vector(({}, END + 60.0))) if form["query"] == "vector(time())" else truly()

    with proxy(upstream, dated) as between:
        report = reading(between.url, at=None, now=END + 60.0 - 7_200.0)  # a report ends a minute ago
    assert "the clock of this machine is 2 h behind that of Prometheus" in report.warnings
    assert report.at == END
    assert findings(report) == findings(sound)


FAULTS: dict[str, Callable[[Form, Truly], Reply]] = {
    "refused": lambda _, __: plain(error("bad_data", "parse error"), 400),
    "a limit": lambda _, __: plain(error("execution", "too many samples"), 422),
    "a gateway's page": lambda _, __: (502, {"Content-Type": "text/html"}, b"<h1>Bad Gateway</h1>"),
    "a page that says all is well": lambda _, __: (200, {"Content-Type": "text/html"}, b"<h1>Sign in</h1>"),
    "nothing": lambda _, __: (200, {}, b""),
    "cut": lambda _, truly: _cut(truly()),
}


def _cut(reply: Reply) -> Reply:
    status, headers, body = reply
    return status, {**headers, "Content-Length": str(len(body))}, body[: len(body) // 2]


FEW = {("a limit", 2), ("cut", 13), ("a page that says all is well", 13)}


@pytest.mark.parametrize(
    ("fault", "first"),
    [
        pytest.param(fault, first, marks=[] if (fault, first) in FEW else pytest.mark.long)
        for fault in FAULTS
        for first in (0, 2, 3, 5, 6, 8, 10, 12, 13, 14, 16)
    ],
)
def test_whichever_query_fails_for_good_nothing_wrong_is_said(
    upstream: str, sound: FleetReport, fault: str, first: int
) -> None:
    """The same query is refused each time that it is asked."""
    numbers, known = itertools.count(), {}

    def broken(form: Form, truly: Truly) -> Reply:
        what = form["query"].partition("instance=~")[0]
        if what not in known:
            known[what] = next(numbers)
        return FAULTS[fault](form, truly) if known[what] == first else truly()

    with proxy(upstream, broken) as between:
        try:
            report = reading(between.url)
        except QueryError:
            return
    assert len(known) > first
    hold(report, sound)


def test_a_prometheus_that_dies_on_the_way_leaves_out_the_rest(upstream: str, sound: FleetReport) -> None:
    asked = itertools.count()

    def dying(_: Form, truly: Truly) -> Reply:
        return truly() if next(asked) < 9 else (503, {}, b"Service Unavailable")

    with proxy(upstream, dying) as between:
        report = reading(between.url)
    hold(report, sound)
    assert set(left_out(report)) >= SOUND
