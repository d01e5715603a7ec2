"""The pictures draw and say what the API answers, and follow it without being built anew."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.advisor.listening import Listening
from tests.page.visitor import PHONE, Visitor, drawn, ready

SETTING = "innodb_old_blocks_pct"
CHART = ".pool-charts canvas >> nth=0"

# Without a further collection, a recording's page shows what it is given here.
GIVE = """async ([name, values, events]) => {
    const { store, say } = await import("/page/store.js");
    const series = new Map(store.series);
    const before = series.get(name);
    const at = values.map((_, index) => before.at.at(-1) + 1 + index);
    series.set(name, { ...before, at: [...before.at, ...at], values: [...before.values, ...values] });
    Object.assign(store, { series, events: events.map((event) => ({ ...event, at: at[0] })) });
    say("");
}"""
KEEP = "(canvas) => { canvas.kept = true; }"
PICTURE = "(canvas) => canvas.toDataURL()"
END = """async () => {
    const { render } = await import("/page/vendor/standalone.module.js");
    const before = globalThis.uPlot.sync("time").plots.length;
    render(null, document.getElementById("page"));
    return [before, globalThis.uPlot.sync("time").plots.length];
}"""


@pytest.fixture
def page(replaying: Listening, visitor: Visitor) -> Page:
    opened = visitor.open(replaying.url)
    ready(opened)
    expect(opened.locator(CHART)).to_be_visible()
    return opened


def whatif(page: Page) -> Any:
    what_if = page.locator(".finding .whatif").first
    what_if.locator("summary").first.click()
    return what_if


def test_the_strip_is_in_proportion(replaying: Listening, page: Page) -> None:
    [pool] = replaying.get("/overview").json()["pools"]
    strip = page.get_by_role("img", name="The LRU list")
    whole = strip.bounding_box()
    assert whole is not None
    for part in ("young", "old"):
        box = strip.locator(f".strip-{part} .strip-ground").bounding_box()
        assert box is not None
        assert box["width"] / whole["width"] == pytest.approx(pool[f"{part}_pages"] / pool["size_pages"], abs=0.003)
        expect(strip).to_have_accessible_name(re.compile(rf"{part} {pool[f'{part}_pages']:,} pages"))


def test_a_chart_takes_new_points_and_marks_without_being_built_anew(page: Page) -> None:
    canvas = page.locator(CHART)
    canvas.scroll_into_view_if_needed()
    drawn(page)
    canvas.evaluate(KEEP)
    before = canvas.evaluate(PICTURE)
    events = [
        {"kind": "restart", "text": "the server was restarted"},
        {"kind": "setting", "text": f"{SETTING} 37 -> 64"},
    ]
    page.evaluate(GIVE, ["young_pages", [4321, 4321, 4321], events])
    chart = page.locator(".pool-charts figure").first
    expect(chart.get_by_role("img")).to_have_accessible_name(re.compile("young: now 4,321 pages .* was restarted"))
    expect(chart.locator(".chart-legend")).to_contain_text("young 4,321 pages")
    expect(page.locator(".pool .chart-marks")).to_have_text(re.compile(rf"▼ .* restarted.*◆ .*{SETTING} 37 -> 64"))
    drawn(page)
    assert canvas.evaluate("(canvas) => canvas.kept === true")
    assert canvas.evaluate(PICTURE) != before


def test_a_chart_follows_the_width_and_the_colours_of_the_page(page: Page) -> None:
    canvas = page.locator(CHART)
    canvas.scroll_into_view_if_needed()
    canvas.evaluate(KEEP)
    light = canvas.evaluate(PICTURE)
    page.emulate_media(color_scheme="dark")
    drawn(page)
    assert canvas.evaluate(PICTURE) != light
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    page.wait_for_function("(canvas) => canvas.clientWidth < 390", arg=canvas.element_handle())
    assert canvas.evaluate("(canvas) => canvas.kept === true")


def test_a_chart_that_is_gone_leaves_nothing_behind(page: Page) -> None:
    before, after = page.evaluate(END)
    assert before >= 2
    assert after == 0


def test_tables_are_sorted_by_keyboard(page: Page) -> None:
    head = page.locator(".tables thead")
    by = head.locator("th", has_text="Size")
    expect(head.locator("th", has_text="Reads/s")).to_have_attribute("aria-sort", "descending")
    by.get_by_role("button").focus()
    names = page.locator(".tables tbody .pic-name")
    for order, first in (("descending", "shop.archive"), ("ascending", "shop.orders")):
        page.keyboard.press("Enter")
        expect(by).to_have_attribute("aria-sort", order)
        expect(names.first).to_have_text(first)


def test_what_if_says_what_the_model_answers(replaying: Listening, page: Page) -> None:
    sliders = whatif(page)
    slider = sliders.get_by_role("slider")
    advised = page.locator(".finding .code code").first.inner_text()
    expect(sliders.locator("output")).to_contain_text(re.findall(r"\d+", advised)[-1])
    slider.focus()
    page.keyboard.press("End")
    expect(sliders.locator("output")).to_have_text("95 percent")
    answer = replaying.post("/whatif", json={"set": {SETTING: 95}}).json()
    [table] = answer["tables"]
    rows = sliders.locator(".whatif-effects tbody tr")
    for row, amount in ((0, table["pages_read_per_pass"]), (1, answer["pages_of_others"])):
        expect(rows.nth(row).locator("td").nth(0)).to_contain_text(f"{round(amount['now']):,} pages")
        expect(rows.nth(row).locator("td").nth(1)).to_contain_text(f"{round(amount['then']):,} pages")
    expect(sliders.get_by_role("img").first).to_have_accessible_name(
        re.compile(rf"from 5 to 95\. shop\.orders: .* {round(table['pages_read_per_pass']['then']):,} then")
    )


def test_what_if_draws_the_margin_that_the_advice_keeps(replaying: Listening, page: Page) -> None:
    sliders = whatif(page)
    expect(sliders.locator(".whatif-margin")).to_contain_text("the margin that advice keeps")
    expect(sliders.locator(".whatif-first .plot-band").first).to_be_attached()
    swept = replaying.post("/whatif/sweep", json={"setting": SETTING, "values": [60]}).json()
    [orders] = swept["objects"]
    number = swept["values"].index(60)
    assert orders["predicted"][number] == 0 < orders["most"][number]
    slider = sliders.get_by_role("slider")
    slider.fill(str(number))
    expect(sliders.get_by_role("img").first).to_have_accessible_name(
        re.compile(rf"0 then, at most {orders['most'][number]:,}")
    )


def test_a_refusal_of_the_model_is_told_in_words(replaying: Listening, visitor: Visitor) -> None:
    page = visitor.open(replaying.url, harmless="/whatif/sweep")
    ready(page)
    why = "the model has no answer: the window is too short"

    def refuse(route: Route) -> None:
        route.fulfill(status=503, content_type="application/problem+json", json={"status": 503, "detail": why})

    page.route("**/whatif/sweep", refuse)
    expect(whatif(page).locator(".pic-lack")).to_have_text(why)


def test_the_miss_curve_has_its_bounds_and_marks_today_and_the_advised_size(replaying: Listening, page: Page) -> None:
    page.locator("#curve").scroll_into_view_if_needed()
    curve = page.locator(".curve")
    expect(curve.get_by_role("img")).to_have_accessible_name(re.compile(r"Today 256 MiB.*Advised 384 MiB.*Expected"))
    for name in ("today 256 MiB", "advised 384 MiB"):
        expect(curve.locator(".plot-name", has_text=name)).to_be_visible()
    curve.locator("summary").click()
    rows = curve.locator("tbody tr")
    sizes = replaying.get("/curve", headers={"Accept": "application/json"}).json()["sizes"]
    expect(rows).to_have_count(len(sizes))
    for row, size in zip(rows.all(), sizes, strict=True):
        reads = size["pages_read_per_second"]
        expect(row).to_contain_text(f"{shown(reads['expected'])} pages/s")
        expect(row).to_contain_text(f"{shown(reads['low'])} to {shown(reads['high'])}")


def shown(value: float) -> str:
    """A number as the page writes it."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
