"""Everything on the page can be reached and used with the keyboard alone."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.advisor.listening import Listening
from tests.page.visitor import Visitor, ready, unfold

MOST_STOPS = 600

CONTROLS = """() => {
    const grouped = (node) => node.type === "radio" && !node.checked;
    const all = "a[href], button, input, select, textarea, summary, [tabindex='0']";
    globalThis.controls = [...document.querySelectorAll(all)]
        .filter((node) => node.checkVisibility({ visibilityProperty: true }) && !node.disabled && !grouped(node));
    return globalThis.controls.length;
}"""
STOP = """() => {
    const focused = document.activeElement;
    if (!focused || focused === document.body) return null;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(focused);
    return {
        control: globalThis.controls.indexOf(focused),
        visible: (outlineStyle !== "none" && parseFloat(outlineWidth) >= 1) || boxShadow !== "none",
        named: `${focused.tagName} ${focused.className} ${focused.textContent.trim().slice(0, 40)}`,
    };
}"""

MISSED = """(stops) => globalThis.controls.filter((_, index) => !stops.includes(index))
    .map((node) => node.outerHTML.slice(0, 150))"""


def walk(page: Page) -> tuple[list[int], list[str]]:
    """The controls in the order of the Tab key, and those whose focus cannot be seen."""
    stops: list[int] = []
    unseen: list[str] = []
    page.evaluate("() => document.activeElement?.blur()")
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stop = page.evaluate(STOP)
        if stop is None or stop["control"] in stops:
            break
        if stop["control"] >= 0:  # others came after the controls were counted
            stops.append(stop["control"])
        if not stop["visible"]:
            unseen.append(stop["named"])
    return stops, unseen


def test_tab_reaches_every_control_in_order_and_shows_where_it_is(replaying: Listening, visitor: Visitor) -> None:
    page = visitor.open(replaying.url)
    ready(page)
    expect(page.locator(".tables tbody tr").first).to_be_visible()
    page.route("**/state", lambda _: None)  # what comes meanwhile would change the list
    unfold(page)
    expect(page.locator(".whatif-slider").first).to_be_visible()
    count = page.evaluate(CONTROLS)
    stops, unseen = walk(page)
    assert page.evaluate(MISSED, stops) == []
    assert unseen == []
    assert count > 40
    assert stops == sorted(stops)


def test_keys_unfold_choose_and_slide(replaying: Listening, visitor: Visitor) -> None:
    page = visitor.open(replaying.url)
    ready(page)
    whatif = page.locator(".finding .whatif").first
    whatif.locator("summary").first.focus()
    page.keyboard.press("Enter")
    slider = whatif.get_by_role("slider")
    before = slider.get_attribute("aria-valuetext")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(slider).not_to_have_attribute("aria-valuetext", before or "")
    chosen = whatif.get_by_role("radio", checked=True)
    name = chosen.get_attribute("name")
    chosen.focus()
    page.keyboard.press("ArrowDown")
    expect(whatif.get_by_role("radio").first).to_have_attribute("name", name or "")
    expect(whatif.locator(".whatif-slider, .pic-lack").first).to_be_visible()
