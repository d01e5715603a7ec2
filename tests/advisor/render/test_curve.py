"""The miss curve for people and programs: the same numbers as text, as JSON and as a picture."""

from __future__ import annotations

import io
import itertools
import json
import re
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from advisor.pool.curve import MissCurve
from advisor.render import curve_svg, models
from advisor.render import text as plain
from tests.advisor.curves import MIB, POOL, bounded, curve, estimate, pool_size, size

SVG = "{http://www.w3.org/2000/svg}"
ODD = "a<b>&\"'</text><script>alert(1)</script>\x01\udc80\ufffe|[bold]"
SIZES = ("0.25 ×", "0.5 ×", "0.75 ×", "today", "1.5 ×", "2 ×", "4 ×")


def shown(miss_curve: MissCurve | None = None) -> MissCurve:
    return (miss_curve or curve()).tidied()


def printed(miss_curve: MissCurve, width: int, encoding: str = "utf-8") -> str:
    """What a terminal of this width and character set shows."""
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    plain.show(models.curve(miss_curve), Console(file=out, width=width, highlight=False))
    out.flush()
    return raw.getvalue().decode(encoding)


def in_a_file(miss_curve: MissCurve) -> str:
    return plain.text(models.curve(miss_curve))


def picture(miss_curve: MissCurve) -> ET.Element:
    return ET.fromstring(curve_svg.svg(miss_curve))  # noqa: S314 - made here


def pixels(root: ET.Element, tag: str, kind: str) -> list[tuple[float, float]]:
    """The points of the first line or area of this class; a second one is the legend's."""
    shape, *_ = [element for element in root.iter(f"{SVG}{tag}") if element.get("class") == kind]
    return [(float(x), float(y)) for x, y in (point.split(",") for point in shape.get("points", "").split())]


def dots(root: ET.Element, kind: str) -> list[tuple[float, float]]:
    circles = [element for element in root.iter(f"{SVG}circle") if element.get("class") == kind]
    return [(float(circle.get("cx", "nan")), float(circle.get("cy", "nan"))) for circle in circles]


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def test_the_answer_has_the_curve_with_tidy_numbers_and_the_tables_the_most_read_first() -> None:
    miss_curve = shown(curve([size(0.5, 1234.5678, 0.1, scans=3.14159, few=1.0, many=5.0)], reads=400.004))
    assert json.loads(miss_curve.model_dump_json()) == {
        "server": "mysql 9.7.4",
        "at": 1_700_003_600.0,
        "watched_seconds": 3600.0,
        "pool_bytes": POOL,
        "page_bytes": 16384,
        "pages_read_per_second": 400,
        "first_pages_read_per_second": {"expected": 0, "low": 0, "high": 0},
        "sizes": [
            {
                "times": 0.5,
                "bytes": POOL // 2,
                "pages_read_per_second": {"expected": 1235, "low": 1111, "high": 1358},
                "scan_pages_read_per_second": 3.14,
                "tables": [
                    {
                        "subject": {"schema": "shop", "table": "many"},
                        "pages_read_per_second": {"expected": 5, "low": 4.5, "high": 5.5},
                    },
                    {
                        "subject": {"schema": "shop", "table": "few"},
                        "pages_read_per_second": {"expected": 1, "low": 0.9, "high": 1.1},
                    },
                ],
            }
        ],
        "filled": [],
        "notes": ["rests on a test"],
    }
    assert MissCurve.model_validate_json(miss_curve.model_dump_json()) == miss_curve


def test_a_name_with_a_dot_is_a_table_and_one_without_has_no_schema() -> None:
    named = pool_size(1.0, estimate(1.0), tables={"shop.a.b": estimate(2.0), "else": estimate(1.0)})
    assert [table.subject for table in shown(curve([named])).sizes[0].tables] == [
        {"schema": "shop", "table": "a.b"},
        {"schema": "", "table": "else"},
    ]


def test_text_has_a_row_with_a_bar_for_each_size_and_the_tables() -> None:
    text = in_a_file(
        shown(curve(filled={20.0 * MIB: 1200.0, 40.0 * MIB: 700.0}, first_reads=bounded(12.5, 12.5, 12.5)))
    )
    lines = text.splitlines()
    assert lines[:2] == [
        "mysql 9.7.4, watched 60 min",
        (
            "innodb_buffer_pool_size = 64 MiB: 400 pages read a second,"
            " 12.5 of them for the first time, which no size saves: left out here"
        ),
    ]
    rows = [line for line in lines if re.match(r" *\d+ MiB ", line)]
    assert [re.split(r" {2,}", row.strip())[1] for row in rows] == [*SIZES]
    assert re.fullmatch(r" 32 MiB +0\.5 × +800 +640 to 960 +12\.5 MiB  █{16}░{3}│░{4}", rows[1])
    lengths = [len(re.sub("[^█░│]", "", row)) for row in rows]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == 48
    assert re.search(r"^shop\.items +1,200 +600 +400 +300 +200 +150 +75$", text, re.MULTILINE)
    assert "measured while the pool filled: 1,200 pages a second at 20 MiB, 700 at 40 MiB\n" in text
    assert text.endswith("\nrests on a test\n")
    assert "by scans" not in text
    assert "by scans" in in_a_file(shown(curve([size(1.0, 9.0, scans=3.0)])))


@pytest.mark.parametrize("width", [30, 40, 50, 60, 80, 120, 200])
def test_a_narrow_terminal_gets_fewer_columns_and_no_line_is_too_long(width: int) -> None:
    text = printed(shown(), width)
    assert max(map(len, text.splitlines())) <= width
    sizes, _, tables = text.partition("by table")
    if width >= 40:
        for expected in ("1,600", "533.3", "1,280 to 1,920"):
            assert expected in sizes
        assert re.search("today.*\n(.*\n)*shop.items.* 300", tables)
    assert ("bytes/s" in sizes) == (width >= 60)
    assert ("│░" in sizes) == (width >= 50)
    assert ("0.25 ×" in tables) == (width >= 60)


def test_a_terminal_without_block_characters_gets_others() -> None:
    text = printed(shown(), 80, "latin-1")
    assert re.search(r"16 MiB +0\.25 × .* #+-+\|-+ *\n", text)
    assert "# at least, | expected, - at most" in text


def test_only_the_tables_with_the_most_reads_are_shown_and_the_rest_summed() -> None:
    many = {f"t{number:02}": 100.0 - number for number in range(30)}
    miss_curve = shown(curve([size(1.0, 3000.0, **many)]))
    text = in_a_file(miss_curve)
    assert re.search(r"^shop\.t09 +91$", text, re.MULTILINE)
    assert "shop.t10" not in text
    assert re.search(rf"^20 others +{sum(100 - number for number in range(10, 30)):,}$", text, re.MULTILINE)
    assert [text for text in texts(picture(miss_curve)) if text.startswith("shop.")] == [
        f"shop.t0{number}, without full scans" for number in range(5)
    ]
    assert len(miss_curve.sizes[0].tables) == 30


def test_a_picture_has_the_curve_with_its_band_and_todays_point() -> None:
    root = picture(shown(curve(filled={20.0 * MIB: 1200.0}, first_reads=bounded(10.0, 5.0, 12.0))))
    line = pixels(root, "polyline", "expected")
    assert dots(root, "size") == line
    assert len(line) == len(SIZES)
    assert [x for x, _ in line] == sorted(x for x, _ in line)
    assert [y for _, y in line] == sorted(y for _, y in line)  # fewer reads are further down
    band = pixels(root, "polygon", "band")
    high, low = band[: len(SIZES)], band[: len(SIZES) - 1 : -1]
    for (x, y), (x_high, y_high), (x_low, y_low) in zip(line, high, low, strict=True):
        assert x == x_high == x_low
        assert y_high < y < y_low
    assert dots(root, "measured")[0] == line[SIZES.index("today")]
    [(x, y)] = dots(root, "filled")[:-1]  # the last is the legend's
    assert line[0][0] < x < line[1][0]
    assert line[0][1] < y < line[1][1]
    assert set(SIZES) <= set(texts(root))
    assert {"16 MiB", "256 MiB", "0", "2k", "shop.items, without full scans"} <= set(texts(root))
    description = root.findtext(f"{SVG}desc") or ""
    assert "today: 400 (320 to 480)" in description


def test_a_picture_loads_nothing_and_follows_the_readers_colours() -> None:
    text = curve_svg.svg(shown())
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"href|url\(|@import|<script|<image|<foreignObject", text)
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]


def test_odd_names_stay_text_in_every_form() -> None:
    named = pool_size(1.0, estimate(9.0), tables={f"{ODD}.{ODD}": estimate(9.0)})
    miss_curve = shown(curve([named, size(2.0, 1.0)], server=f"mysql {ODD}"))
    root = picture(miss_curve)
    assert not [*root.iter(f"{SVG}script")]
    assert any("</text><script>" in text for text in texts(root))
    assert not re.search("[\x00-\x08\ud800-\udfff\ufffe]", curve_svg.svg(miss_curve))
    assert "|[bold]" in in_a_file(miss_curve)
    assert miss_curve.sizes[0].tables[0].subject["schema"] == ODD.partition(".")[0]


@pytest.mark.parametrize("reads", [0.0, 0.004, 1e-3, 7.0, 1e6, 123_456_789.0, 9e15])
def test_no_reads_and_very_many_reads_are_drawn(reads: float) -> None:
    miss_curve = shown(curve(reads=reads))
    root = picture(miss_curve)
    assert all(58.0 <= y <= 398.0 for _, y in pixels(root, "polygon", "band"))
    labels = [element.text or "" for element in root.iter(f"{SVG}text") if element.get("class") == "quiet end"]
    assert 2 <= len([label for label in labels if "×" not in label]) <= 12
    assert max(map(len, labels)) <= 12
    text = in_a_file(miss_curve)
    assert "nan" not in text
    if reads == 0.0:
        assert "0 to 0" in text
        assert not re.search("[█░]", text.partition("\n█")[0])


def test_a_single_size_and_an_exact_one_are_drawn() -> None:
    miss_curve = shown(curve([size(1.0, 5.0, width=0.0)], reads=5.0))
    [(x, _)] = pixels(picture(miss_curve), "polyline", "expected")
    assert 78.0 < x < 700.0
    assert "█" * 48 in in_a_file(miss_curve)
    assert "░░" not in in_a_file(miss_curve)


def test_labels_of_sizes_that_are_close_together_do_not_overlap() -> None:
    root = picture(shown(curve([size(times / 100, 100.0) for times in range(50, 201, 5)])))
    at = sorted(
        float(element.get("x", "nan"))
        for element in root.iter(f"{SVG}text")
        if (element.text or "").endswith(("×", "today"))
    )
    assert len(at) > 5
    assert all(after - before >= 47.9 for before, after in itertools.pairwise(at))
    assert "today" in texts(root)
