"""Content negotiation after RFC 9110, section 12.5.1."""

import pytest

from advisor.http.negotiation import best

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
        ('text/markdown;x="a,b;q=0.1";q=0.9, text/plain;q=0.5', MARKDOWN),
        ("text/markdown;q=1.000", MARKDOWN),
        ("text/markdown;q=0.001", MARKDOWN),
        ("text/html", None),
        ("application/json;q=0", None),
        ("*/*;q=0", None),
        ("text/markdown;q=2", None),  # malformed: ignored
        ("text/markdown;q=0.0001", None),
        ("json", None),
        ("text/", None),
        ("*", None),
        ("text/markdown;q=2, text/plain", PLAIN),
    ],
)
def test_the_weightiest_acceptable_form_is_chosen(accept: str, chosen: str | None) -> None:
    assert best(accept, OFFERS) == chosen


def test_a_long_header_is_parsed_quickly() -> None:
    assert best('"' * 20_000 + ",text/plain", OFFERS) in (None, PLAIN)
    assert best("a," * 20_000 + "text/plain", OFFERS) == PLAIN
