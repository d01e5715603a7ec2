"""The page shows what the server's names hold, as everything else does, and obeys none of it."""

from __future__ import annotations

import json

from advisor.contract.sql import identifier
from advisor.contract.visible import visible, visible_lines
from advisor.render import phrases
from tests.advisor.listening import Listening
from tests.hostile_names import NAMES
from tests.page.visitor import Visitor

_ALL = """async ([module, name, texts]) => {
    const show = (await import(new URL(`page/${module}`, document.baseURI)))[name];
    return JSON.parse(texts).map((text) => show(text));
}"""
_DRAWN = """async (texts) => {
    const { html, render } = await import(new URL("page/html.js", document.baseURI));
    return JSON.parse(texts).map((text) => {
        const place = document.createElement("div");
        render(html`<p title=${text}>${text}<b>${[text]}</b></p>`, place);
        return [place.querySelectorAll("*").length, place.firstChild.title, place.textContent];
    });
}"""


def test_the_page_makes_the_same_visible_as_the_sidecar(replaying: Listening, visitor: Visitor) -> None:
    page = visitor.open(replaying.url)
    texts = json.dumps(NAMES)
    assert page.evaluate(_ALL, ["visible.js", "visible", texts]) == list(map(visible, NAMES))
    assert page.evaluate(_ALL, ["visible.js", "visibleLines", texts]) == list(map(visible_lines, NAMES))
    sql = [f"ANALYZE TABLE {identifier(name)}" for name in NAMES]
    assert page.evaluate(_ALL, ["visible.js", "statement", json.dumps(sql)]) == list(map(phrases.statement, sql))


def test_every_text_of_the_page_shows(replaying: Listening, visitor: Visitor) -> None:
    drawn = visitor.open(replaying.url).evaluate(_DRAWN, json.dumps(NAMES))
    assert drawn == [[2, visible_lines(name), 2 * visible_lines(name)] for name in NAMES]
