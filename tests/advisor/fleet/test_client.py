from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from advisor.fleet import client as clients
from advisor.fleet.client import ErrorKind, PrometheusClient, QueryError, QueryOutcome
from advisor.fleet.series import Grid, QueryAnswer, QuerySeries
from advisor.outgoing.settings import client_settings
from tests.advisor.fleet.answering import Answering, error, plain, vector, zipped
from tests.waiting import DEADLINE

ONE = ({"instance": "db-1", "job": 'a "b" {c]'}, 1.5)
MATRIX = {
    "status": "success",
    "isPartial": False,
    "data": {
        "resultType": "matrix",
        "result": [
            {"metric": {"a": "ü"}, "values": [[1, "2"], [2.5, "NaN"], [4, "+Inf"], [5, "3"]]},
            {"metric": {"a": "not a number"}, "values": [[1, "NaN"]]},
        ],
    },
    "warnings": [],
    "stats": {"seriesFetched": "1"},
}


@pytest.fixture
def answering() -> Iterator[Answering]:
    with Answering() as made:
        yield made


async def test_series_have_their_finite_points(answering: Answering) -> None:
    answering.answers = lambda _: plain(json.dumps(MATRIX).encode())
    async with PrometheusClient(answering.url) as client:
        assert await client.grid("up", Grid(9_000.0, 450.0)) == QueryAnswer(
            (QuerySeries({"a": "ü"}, ((1.0, 2.0), (5.0, 3.0))),)
        )


async def test_a_query_says_all_that_prometheus_thanos_and_mimir_need(answering: Answering) -> None:
    answering.answers = lambda _: zipped(vector(ONE))
    async with PrometheusClient(answering.url + "/", headers={"X-Scope-OrgID": "eu"}) as client:
        assert (await client.instant("up", 1_000)).series == (QuerySeries(ONE[0], ((1_000.0, 1.5),)),)
        await client.grid("up", Grid(9_000.0, 450.0))
    (path, form, headers), (range_path, range_form, _) = answering.asked
    assert (path, form["query"], form["time"]) == ("/api/v1/query", "up", "1000.000")
    assert (form["partial_response"], form["max_source_resolution"]) == ("false", "0s")
    assert (headers["x-scope-orgid"], headers["accept-encoding"]) == ("eu", "gzip")
    assert range_path == "/api/v1/query_range"
    assert (range_form["start"], range_form["end"], range_form["step"]) == ("5400.000", "9000.000", "450.000")


@pytest.mark.parametrize("window", [3_600.0, 619.9, 1_000 / 3])
def test_the_last_point_of_a_grid_is_its_end_as_prometheus_counts(window: float) -> None:
    grid = Grid.of(1_700_000_042.5, window)
    [begin, end, step] = [round(1000 * time) for time in (grid.begin, grid.end, grid.step)]
    assert begin + (len(grid.points) - 1) * step == end == 1_699_999_980_000


@pytest.mark.parametrize(
    ("status", "kind", "text", "expected"),
    [
        (422, "execution", "query processing would load too many samples into memory", "limit"),
        (422, "execution", "err-mimir-max-series-per-query: limit 100000", "limit"),
        (400, "bad_data", "too long query; got 20000 bytes; mustn't exceed `-search.maxQueryLen=16384`", "limit"),
        (503, "timeout", "query timed out in expression evaluation", "slow"),
        (504, "", "Gateway Timeout", "slow"),
        (400, "bad_data", "1:5: parse error: unexpected identifier", "refused"),
        (503, "unavailable", "TSDB not ready", "refused"),
        (429, "", "too many requests", "refused"),
    ],
)
async def test_an_error_says_whether_a_smaller_query_may_do(
    answering: Answering, status: int, kind: str, text: str, expected: ErrorKind
) -> None:
    answering.answers = lambda _: plain(error(kind, text), status)
    queries = Counter[QueryOutcome]()
    async with PrometheusClient(answering.url, queries=queries) as client:
        with pytest.raises(QueryError) as failure:
            await client.instant("up", 1_000)
    assert (failure.value.kind, failure.value.status) == (expected, status)
    assert str(failure.value) == f"HTTP {status}" + (f", {kind}" if kind else "") + f": {text}"
    assert queries == {"refused" if expected == "refused" else "limit": 1}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, {}, b"<html>hello</html>"), "it does not answer as Prometheus' API does"),
        ((200, {}, b'{"status":"success","data":{"result":[7]}}'), "it does not answer as Prometheus' API does"),
        ((200, {}, vector(ONE)[:-40]), "its answer was cut off"),
        ((200, {"Content-Encoding": "gzip"}, zipped(vector(ONE))[2][:-20]), "its answer was cut off"),
        ((200, {"Content-Encoding": "gzip"}, b"not gzip"), "its answer cannot be decompressed"),
        ((200, {"Content-Length": "999"}, vector(ONE)), "without sending complete message body"),
    ],
)
async def test_an_answer_that_is_none_is_said(
    answering: Answering, answer: tuple[int, dict[str, str], bytes], message: str
) -> None:
    answering.answers = lambda _: answer
    async with PrometheusClient(answering.url) as client:
        with pytest.raises(QueryError, match=message):
            await client.instant("up", 1_000)


async def test_what_is_too_slow_or_too_long_is_asked_for_fewer_servers(
    answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = client_settings(None, encrypted=False, timeout=0.2)
    given_up = threading.Event()
    async with PrometheusClient("http://127.0.0.1:1") as client:
        with pytest.raises(QueryError, match="cannot connect: Connection refused") as failure:
            await client.instant("up", 1_000)
    assert failure.value.kind == "unreachable"

    def late(_: object) -> tuple[int, dict[str, str], bytes]:
        given_up.wait(DEADLINE)
        return 200, {}, vector()

    answering.answers = late
    async with PrometheusClient(answering.url, settings) as client:
        with pytest.raises(QueryError, match=r"no answer within 0\.2 s") as failure:
            await client.instant("up", 1_000)
    assert failure.value.kind == "slow"
    given_up.set()
    monkeypatch.setattr(clients, "_MOST_BYTES", 1_000)
    answering.answers = lambda _: zipped(vector(*[ONE] * 50))
    async with PrometheusClient(answering.url) as client:
        with pytest.raises(QueryError, match="longer than") as failure:
            await client.instant("up", 1_000)
    assert failure.value.kind == "limit"


async def test_a_label_that_is_no_valid_text_is_shown_and_asked_for_as_its_escape(answering: Answering) -> None:
    body = vector(({"table": "a@b", "other": "\ud800"}, 1.0)).replace(b"a@b", b"a\xffb")
    answering.answers = lambda _: plain(body)
    async with PrometheusClient(answering.url) as client:
        [series] = (await client.instant("up", 1_000)).series
        assert series.labels == {"table": "a\ufffdb", "other": r"\ud800"}
        await client.instant(f'up{{other="{series.labels["other"]}"}}', 1_000)
    assert answering.asked[-1][1]["query"] == r'up{other="\ud800"}'


@pytest.mark.parametrize(
    ("first", "partial"),
    [({"warnings": ["store eu-2 is down"]}, True), ({"isPartial": True}, True), ({"infos": ["x"]}, False)],
)
async def test_an_incomplete_answer_is_asked_for_once_more(
    answering: Answering,
    first: dict[str, Any],
    partial: bool,  # noqa: FBT001
) -> None:
    answering.answers = lambda _: zipped(vector(ONE, **first))
    async with PrometheusClient(answering.url) as client:
        answer = await client.instant("up", 1_000)
        assert (answer.partial, len(answering.asked)) == (partial, 2 if partial else 1)
        answers = [vector(ONE, **first), vector(ONE, ONE)]
        answering.answers = lambda _: zipped(answers.pop(0))
        assert (await client.instant("up", 1_000)).partial is False
