"""What does not show is shown by its escape, and nothing else is touched."""

from __future__ import annotations

import json

import pytest

from advisor.contract.recommendation import Evidence
from advisor.contract.visible import json_of, visible, visible_json, visible_lines
from tests.hostile_names import NAMES, raw


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_every_character_shows(name: str) -> None:
    assert not raw(visible(name), "")
    assert not raw(visible_lines(name), "\n")
    assert visible(visible(name)) == visible(name)


def test_an_escape_names_its_character() -> None:
    assert visible("\x1b[2J a\u202eb\n\ud800\U000e0041") == r"\x1b[2J a\u202eb\n\ud800\U000e0041"
    assert visible_lines("a\n\tb\r\n") == "a\n\\tb\\r\n"


def test_what_shows_stays() -> None:
    for text in ("plain", "订单⚡", "Ünï ẞ", "👩‍👩‍👧 ❤️", "می‌خواهم", "שלום", "a\u00a0b"):
        assert visible(text) == text


def test_joiners_are_hidden_beside_latin_letters() -> None:
    assert visible("or\u200cders") == r"or\u200cders"
    assert visible("orders\ufe0f") == r"orders\ufe0f"
    assert visible("\u202e\u200dx") == r"\u202e\u200dx"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_has_the_same_value_in_characters_that_show(name: str, indent: int | None) -> None:
    text = json_of(Evidence(name=name, value=name, source=name), indent=indent)
    assert not raw(text)
    assert json.loads(text) == {"name": name, "value": name, "unit": "", "source": name}
    text.encode()


def test_json_beyond_the_basic_plane_is_escaped_by_pairs() -> None:
    assert visible_json('["\U000e0041\U0001f600"]') == '["\\udb40\\udc41\U0001f600"]'
