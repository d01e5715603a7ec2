"""Content negotiation after RFC 9110, section 12.5.1."""

import asyncio

import pytest
from fastapi import Request, Response
from prometheus_client.core import Metric

from advisor.http.answers import MOST_RANGES, best
from advisor.http.metrics import KEPT_SECONDS, Exposed, form_of
from tests.advisor.http.standing import passes

JSON, PLAIN, MARKDOWN = OFFERS = ("application/json", "text/plain", "text/markdown")


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", JSON),
        (" , ", JSON),
        ("*/*", JSON),
        ("text/markdown", MARKDOWN),
        ("TEXT/MARKDOWN", MARKDOWN),
        ("text/*", PLAIN),
        ("application/*", JSON),
        ("text/markdown;q=0.4, text/plain;q=0.8", PLAIN),
        ("text/plain ; q=0.5 , text/markdown ; Q=0.6", MARKDOWN),
        ("text/*;q=0.9, text/plain;q=0.1", MARKDOWN),  # the more specific range counts, whatever its order
        ("text/plain;q=0.1, text/*;q=0.9", MARKDOWN),
        ("*/*, application/json;q=0.5", PLAIN),
        ("*/*;q=0.1, application/json;q=0", PLAIN),
        ("text/html, */*;q=0.8", JSON),
        ("text/markdown;variant=GFM", MARKDOWN),
        ("text/markdown;q=1.000", MARKDOWN),
        ("text/markdown;q=0.001", MARKDOWN),
        ("text/html", None),
        ("application/json;q=0", None),
        ("*/*;q=0", None),
        ("text/markdown;q=2", None),  # malformed: ignored
        ("json", None),
        ("text/", None),
        ("*", None),
        ("text/markdown;q=2, text/plain", PLAIN),
        ("text/markdown, text/plain", MARKDOWN),  # of equal ones the one that is named first
        ("*/*, text/markdown", JSON),
    ],
)
def test_the_weightiest_acceptable_form_is_chosen(accept: str, chosen: str | None) -> None:
    assert best(accept, OFFERS) == chosen


def test_the_first_elements_of_a_header_are_read() -> None:
    assert best("a/b," * (MOST_RANGES - 1) + "text/plain", OFFERS) == PLAIN
    assert best("a/b," * MOST_RANGES + "text/plain", OFFERS) is None


PROMETHEUS = {
    "2.42": "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "3.5": "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
    "3.5 with PrometheusProto": "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
    "encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
}
"""What these versions send."""
OPENMETRICS, CLASSIC = "application/openmetrics-text; version=1.0.0", "text/plain; version=0.0.4"


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        *((header, OPENMETRICS) for header in PROMETHEUS.values()),
        ("", CLASSIC),
        ("*/*", CLASSIC),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", CLASSIC),
        ("text/plain", CLASSIC),
        ('text/plain;version="0.0.4"', CLASSIC),
        ("text/plain;version=1.0.0;escaping=allow-utf-8", "text/plain; version=1.0.0"),
        ("application/openmetrics-text", OPENMETRICS),
        ('application/openmetrics-text; version="1.0.0"', OPENMETRICS),
        ("application/openmetrics-text;version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.5", CLASSIC),
        ("application/openmetrics-text;q=0, */*", CLASSIC),
        ("application/openmetrics-text;version=2.0.0, text/plain;q=0.1", CLASSIC),
        ("application/openmetrics-text;version=x", CLASSIC),
        ("application/vnd.google.protobuf", CLASSIC),  # a scrape is never refused
        ("image/png", CLASSIC),
    ],
)
def test_metrics_have_the_form_that_the_client_prefers(accept: str, content_type: str) -> None:
    assert form_of(accept) == content_type


async def test_scrapes_at_once_share_one_exposition() -> None:
    expositions, state = 0, "before"
    go = asyncio.Event()

    async def families() -> list[Metric]:
        nonlocal expositions
        expositions += 1
        await go.wait()
        return []

    exposed = Exposed(families, lambda: state)

    def scrape(accept: str = "*/*", encoding: str = "gzip") -> asyncio.Task[Response]:
        headers = [(b"accept", accept.encode()), (b"accept-encoding", encoding.encode())]
        return asyncio.create_task(exposed.answer(Request({"type": "http", "headers": headers})))

    alike = [scrape() for _ in range(50)]
    plain, other = scrape(encoding="identity"), scrape(PROMETHEUS["3.5"])
    await asyncio.sleep(0)
    go.set()
    answers = await asyncio.gather(*alike)
    assert {answer.headers["content-encoding"] for answer in answers} == {"gzip"}
    assert "content-encoding" not in (await plain).headers
    assert (await other).headers["content-type"].startswith(OPENMETRICS)
    assert expositions == 3
    state = "after"
    await scrape()
    assert expositions == 4
    await passes(KEPT_SECONDS)
    await scrape()
    assert expositions == 5
