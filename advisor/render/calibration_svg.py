"""The calibration as a picture: for each rule, what was measured over what was predicted."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from advisor.ledger.calibration import Calibration, Prediction
from advisor.render.outcomes import signed
from advisor.render.phrases import value_text
from advisor.render.svg import COLOURS, LINE, document, dot, label, picture, put, shortened, text

_COLUMNS, _WIDTH, _SIZE, _LEFT, _TOP = 3, 240.0, 170.0, 46.0, 84.0
"""Panels side by side; width of one with its axis, side of its square, its margin; and where the first one begins."""
_HEIGHT = _SIZE + 3 * LINE
STYLE = f"""{COLOURS}.name {{ font-size: 11px; font-weight: 600; }} .tick {{ font-size: 10px; fill: var(--quiet); }}
.frame {{ fill: none; stroke: var(--grid); }} .ideal {{ stroke: var(--quiet); stroke-dasharray: 2 4; }}
.stated {{ stroke: var(--curve); opacity: .4; }} .kept {{ fill: var(--curve); opacity: .7; }}
.off {{ fill: var(--point); opacity: .9; }}
"""
_MOST = 2.0
"""The end of the axes at most, times the quantity now: what is beyond is drawn at the edge."""
_LONGEST = 36
"""Characters of a rule's name."""


def place(each: Prediction, most: float) -> tuple[float, float]:
    """Where a prediction is drawn, 0 to 1: predicted and measured, by the quantity now.

    Args:
        each: The prediction.
        most: The end of both axes.
    """
    x, y = (min(max(0.0, float(value) / _now(each)), most) / most for value in (each.predicted, each.measured))
    return x, y


def axes(predictions: Iterable[Prediction]) -> float:
    """The end of both axes, times the quantity now."""
    shares = (float(value) / _now(each) for each in predictions for value in (each.predicted, each.measured))
    return min(_MOST, max((1.0, *shares)))


def _now(each: Prediction) -> float:
    return abs(float(each.now)) or 1.0


def svg(found: Calibration) -> str:
    """The picture as a document: a panel for each rule that has predictions."""
    by_rule = {each.rule: [one for one in found.predictions if one.rule == each.rule] for each in found.rules}
    panels = {rule: known for rule, known in by_rule.items() if known}
    rows = math.ceil(len(panels) / _COLUMNS)
    root = picture(
        _COLUMNS * _WIDTH,
        _TOP + rows * _HEIGHT,
        "What was measured over what was predicted, by rule",
        "; ".join(f"{rule}: {sum(each.kept for each in known)} of {len(known)} kept" for rule, known in panels.items()),
        STYLE,
    )
    label(root, 16, 24, "Measured over predicted, by rule", "title")
    label(
        root,
        16,
        24 + LINE,
        f"{found.kept} of {len(found.predictions)} promises kept; 100% is the rule's number for today",
        "quiet",
    )
    for kind, x, name in (("kept", 22.0, "kept"), ("off", 82.0, "missed")):
        dot(root, kind, 4, x, 20 + 2 * LINE)
        label(root, x + 10, 24 + 2 * LINE, name, "quiet")
    put(root, "line", "stated", x1=152, x2=152, y1=13 + 2 * LINE, y2=27 + 2 * LINE)
    label(root, 160, 24 + 2 * LINE, "stated error", "quiet")
    for number, (rule, known) in enumerate(panels.items()):
        _panel(root, rule, known, number % _COLUMNS * _WIDTH + _LEFT, _TOP + number // _COLUMNS * _HEIGHT + LINE)
    return document(root)


def _panel(root: ET.Element, rule: str, known: list[Prediction], left: float, top: float) -> None:
    most, bottom = axes(known), top + _SIZE
    label(root, left, top - 6, shortened(rule, _LONGEST), "name")
    put(root, "rect", "frame", x=left, y=top, width=_SIZE, height=_SIZE)
    put(root, "line", "ideal", x1=left, y1=bottom, x2=left + _SIZE, y2=top)
    for value, name in ((0.0, "0"), (1.0, f"{most:.0%}")):
        label(root, left - 6, bottom - value * _SIZE + 4, name, "tick end")
        label(root, left + value * _SIZE, bottom + 14, name, "tick middle")
    for each in known:
        x, y = place(each, most)
        across, up = left + x * _SIZE, bottom - y * _SIZE
        if each.stated:
            low, high = (
                bottom - min(max(0.0, x + off / most), 1.0) * _SIZE for off in (-float(each.stated), float(each.stated))
            )
            put(root, "line", "stated", x1=across, x2=across, y1=low, y2=high)
        text(dot(root, "kept" if each.kept else "off", 3.5, across, up), "title", _tip(each))


def _tip(each: Prediction) -> str:
    predicted, measured = (value_text(value, each.unit) for value in (each.predicted, each.measured))
    said = f"{each.quantity}: predicted {predicted}, measured {measured}, off by {signed(each.off)}"
    return f"{each.where}: {said}" if each.where else said
