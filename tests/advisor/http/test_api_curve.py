"""GET /curve: its forms, the window, why there is none; and the curve's metrics."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Callable, Iterator
from xml.etree import ElementTree as ET

import httpx
import pytest
from prometheus_client.core import Metric

from advisor.advice.metrics import Exposition
from advisor.advice.service import Service
from advisor.http import examples
from advisor.observe.source import Replay
from advisor.pool import metrics
from advisor.pool.curve import TIMES, MissCurve
from advisor.pool.estimate import curve as pool_curve
from advisor.pool.load import OTHERS
from advisor.render import curve_svg, models
from advisor.render import text as plain
from exporter.exposition import classic
from tests.advisor.advice.watching import rulebook
from tests.advisor.building import capture, captured
from tests.advisor.curves import bounded, curve, estimate, pool_size, size
from tests.advisor.http.asking import Away, asking_service
from tests.advisor.http.standing import happens
from tests.advisor.sidecar import problem, values
from tests.unavailable import promtool_says

SCAN = "mysql-9.7/change-buffer-off-resident"
POLICY = "default-src 'none'; style-src '{}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"


def service(recording: str = SCAN) -> Service:
    return Service(Replay(capture(recording)), rulebook())


@pytest.fixture
def watched() -> Service:
    return service()


@pytest.fixture
def client(watched: Service) -> httpx.AsyncClient:
    return asking_service(watched)


def expected(longest: float = 3600.0) -> MissCurve:
    return pool_curve(captured(SCAN).snapshots, longest).tidied()


@pytest.mark.parametrize(
    ("accepted", "form", "written"),
    [
        (None, "application/json", MissCurve.model_dump_json),
        ("application/json", "application/json", MissCurve.model_dump_json),
        ("*/*", "application/json", MissCurve.model_dump_json),
        ("text/html,application/xhtml+xml,image/avif,*/*;q=0.8", "image/svg+xml", curve_svg.svg),
        ("image/svg+xml", "image/svg+xml", curve_svg.svg),
        ("image/avif,image/webp,image/svg+xml,image/*,*/*;q=0.8", "image/svg+xml", curve_svg.svg),
        ("text/plain", "text/plain", lambda answer: plain.text(models.curve(answer))),
    ],
)
async def test_the_answer_has_the_form_that_is_asked_for(
    client: httpx.AsyncClient, accepted: str | None, form: str, written: Callable[[MissCurve], str]
) -> None:
    response = await client.get("/curve", headers={"Accept": accepted} if accepted else None)
    assert response.status_code == 200
    assert response.headers["content-type"].partition(";")[0] == form
    assert "Accept" in response.headers["vary"].split(", ")
    assert response.text == written(expected())
    if form == "image/svg+xml":
        style = ET.fromstring(response.text).findtext("{http://www.w3.org/2000/svg}style") or ""  # noqa: S314 - ours
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert response.headers["content-security-policy"] == POLICY.format(f"sha256-{digest}")


async def test_a_window_is_looked_back_to(client: httpx.AsyncClient) -> None:
    assert MissCurve.model_validate_json((await client.get("/curve?window=5")).content) == expected(5.0)
    for query in ("window=0", "window=3601", "window=x", "times=2"):
        assert problem(await client.get(f"/curve?{query}"))[0] == 422
    assert problem(await client.get("/curve", headers={"Accept": "image/png"})) == (
        406,
        "not acceptable; available: application/json, image/svg+xml, text/plain, text/html",
    )


@pytest.mark.parametrize("form", ["application/json", "image/svg+xml"])
async def test_why_there_is_none_is_a_problem(form: str) -> None:
    response = await asking_service(service("mariadb-11.8/idle")).get("/curve", headers={"Accept": form})
    status, detail = problem(response)
    assert status == 503
    assert detail.startswith("there is no miss curve: what is read of each table is not known: performance_schema is")


async def test_without_a_server_there_is_none() -> None:
    away = Service(Away(capture(SCAN)), rulebook())
    assert problem(await asking_service(away).get("/curve")) == (503, "nothing has been collected yet")
    assert away.last_curve is None


def test_the_examples_are_of_one_curve() -> None:
    example = MissCurve.model_validate(examples.curve()["application/json"]["example"])
    assert [size.times for size in example.sizes] == sorted(size.times for size in example.sizes)


# Metrics


def series(families: Iterator[Metric]) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = classic(families).decode()
    assert promtool_says(text) == ""
    return values(text)


def test_metrics_have_each_size_with_its_bounds_in_all_and_by_table() -> None:
    samples = series(
        metrics.families(
            curve(
                [size(0.5, 800.0, 0.1, items=600.0), size(1.0, 400.0, 0.0, items=9.0)],
                first_reads=bounded(20.0, 10.0, 30.0),
            )
        )
    )
    expected = {
        ("innodb_advisor_curve_timestamp_seconds", frozenset()): 1_700_003_600.0,
        **{
            ("innodb_advisor_curve_first_pages_read_per_second", frozenset({("bound", bound)})): value
            for bound, value in (("expected", 20.0), ("low", 10.0), ("high", 30.0))
        },
        **{
            (
                "innodb_advisor_curve_pages_read_per_second",
                frozenset({("times", times), ("bound", bound)}),
            ): value
            for times, bound, value in (
                *(("0.5", "expected", 800.0), ("0.5", "low", 720.0), ("0.5", "high", 880.0)),
                *(("1", "expected", 400.0), ("1", "low", 400.0), ("1", "high", 400.0)),
            )
        },
        **{
            (
                "innodb_advisor_curve_table_pages_read_per_second",
                frozenset({("schema", "shop"), ("table", "items"), ("times", times), ("bound", bound)}),
            ): value
            for times, bound, value in (
                *(("0.5", "expected", 600.0), ("0.5", "low", 540.0), ("0.5", "high", 660.0)),
                *(("1", "expected", 9.0), ("1", "low", 9.0), ("1", "high", 9.0)),
            )
        },
    }
    assert samples == pytest.approx(expected)


def test_only_so_many_tables_have_series_those_with_the_most_reads() -> None:
    many = {f"t{number:03}": 1000.0 - number for number in range(500)}
    samples = series(metrics.families(curve([size(times, 9.0, **many) for times in TIMES])))
    tables = {dict(labels)["table"] for name, labels in samples if "table" in name}
    assert tables == {f"t{number:03}" for number in range(metrics.TABLES)}
    assert len(samples) == 1 + 3 + 3 * len(TIMES) * (1 + metrics.TABLES)


def test_any_name_is_a_label() -> None:
    odd = 'a"b\\\n{}é'
    samples = series(metrics.families(curve([size(1.0, 9.0, **{odd: 5.0})])))
    assert odd in {dict(labels).get("table") for _, labels in samples}


def test_what_the_model_sums_is_labelled_as_other_sums_are() -> None:
    summed = pool_size(1.0, estimate(9.0), tables={OTHERS: estimate(3.0)})
    samples = series(metrics.families(curve([summed])))
    [(schema, value)] = {
        (dict(labels)["schema"], value)
        for (name, labels), value in samples.items()
        if {("table", "__other__"), ("bound", "expected")} <= labels
    }
    assert (schema, value) == ("", 3.0)


async def test_a_scrape_has_the_kept_curve_and_works_none_out(watched: Service) -> None:
    async def scraped() -> set[str]:
        return {family.name for family in await Exposition(watched).families()}

    assert not await scraped() & set(metrics.SPECS)
    await watched.curve(5.0)
    assert not await scraped() & set(metrics.SPECS)
    await watched.curve()
    assert await scraped() >= set(metrics.SPECS)


async def test_the_service_keeps_the_curve_by_itself() -> None:
    source = Replay(capture(SCAN))
    whole = captured(SCAN).seconds
    watched = Service(source, rulebook(), longest=whole)
    running = asyncio.create_task(watched.run())
    try:
        await happens(lambda: watched.last_curve)
        kept = watched.last_curve
        assert kept is not None
        assert kept.at == source.history[-1].at
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
