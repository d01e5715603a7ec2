"""The calibration for people: the table, the plot and the picture have the same predictions."""

from __future__ import annotations

import io
from collections.abc import Iterable
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from advisor.ledger.calibration import Calibration, calibration
from advisor.ledger.entry import Outcome
from advisor.render import calibration_svg
from advisor.render.calibration_text import print_calibration
from tests.advisor.ledger.outcomes import RULE, outcome

SVG = "{http://www.w3.org/2000/svg}"
ODD = "a<b>&\x01\udc80|[bold]"


def found(outcomes: Iterable[Outcome]) -> Calibration:
    return calibration(("monday.jsonl.gz", each) for each in outcomes)


def printed(calibrated: Calibration, encoding: str = "utf-8") -> list[str]:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    print_calibration(Console(file=out, width=120, highlight=False), calibrated)
    out.flush()
    return [line.rstrip() for line in raw.getvalue().decode(encoding).splitlines()]


def marks(lines: list[str]) -> dict[str, tuple[int, int]]:
    """Where the plot has letters: row from the bottom, and column."""
    plot = [line[7:] for line in lines if line[5:7] == " |"]
    return {
        mark: (row, column)
        for row, line in enumerate(reversed(plot))
        for column, mark in enumerate(line)
        if mark.isalpha() or mark == "*"
    }


def test_the_table_has_a_line_for_each_rule_and_the_plot_its_letter() -> None:
    lines = printed(found([outcome(0, 0), outcome(500, 1000), outcome(1000, 1000, rule="another", stated=None)]))
    table = {line.split()[1]: line.split()[2:] for line in lines[1:3]}
    assert table == {
        "another": ["1", "1", "0.0", "%", "0.0", "%", "0.0", "%", "0", "0"],
        RULE: ["2", "1", "25", "%", "50", "%", "+25", "%", "0", "0"],
    }
    assert marks(lines) == {"b": (0, 0), "B": (15, 25), "a": (15, 50)}


def test_what_is_far_beyond_is_drawn_at_the_edge_and_several_rules_at_a_place_are_told() -> None:
    lines = printed(found([outcome(0, 9000), outcome(0, 0), outcome(0, 0, rule="another")]))
    assert marks(lines) == {"B": (15, 0), "*": (0, 0)}
    assert any(line.startswith(" 200% |") for line in lines)


def test_a_terminal_without_unicode_shows_it_too() -> None:
    assert marks(printed(found([outcome(0, 0)]), "ascii")) == {"a": (0, 0)}


def test_without_predictions_there_is_no_plot() -> None:
    assert marks(printed(found([outcome(0, 0, measured=None, error=None)]))) == {}


def test_the_picture_has_a_panel_for_each_rule_and_a_dot_for_each_prediction() -> None:
    text = calibration_svg.svg(found([outcome(500, 500), outcome(0, 1000), outcome(0, 0, rule=ODD)]))
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    root = ET.fromstring(text)  # noqa: S314 - made here
    frames = [each for each in root.iter(f"{SVG}rect") if each.get("class") == "frame"]
    assert len(frames) == 2
    dots = [each for each in root.iter(f"{SVG}circle") if each.find(f"{SVG}title") is not None]
    assert sorted(each.get("class") or "" for each in dots) == ["kept", "kept", "off"]
    said = {title.text for each in dots if (title := each.find(f"{SVG}title")) is not None}
    assert "monday.jsonl.gz: pages read per pass: predicted 500, measured 500, off by 0.0 %" in said
    frame = next(each for each in frames if each.get("x") != frames[0].get("x"))
    left, bottom = float(frame.get("x", "nan")), float(frame.get("y", "nan")) + 170.0
    [middle] = [each for each in dots if float(each.get("cx", "nan")) == pytest.approx(left + 85.0)]
    assert float(middle.get("cy", "nan")) == pytest.approx(bottom - 85.0)
