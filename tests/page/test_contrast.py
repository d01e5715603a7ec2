"""The colours of the pictures stand out from what they lie on, light and dark (WCAG 2.2, 1.4.3 and 1.4.11)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from advisor.http import pages

FOLDER = Path(pages.__file__).parent / "page"
SHAPE, TEXT = 3.0, 4.5
GROUNDS = ("ground", "card")
INDEXES = tuple(f"pic-t{number}" for number in range(6))


def tokens(scheme: str) -> dict[str, str]:
    """The custom properties of both style sheets."""
    inks: dict[str, str] = {}
    for name in ("page.css", "pictures.css"):
        light, _, dark = (FOLDER / name).read_text().partition("@media (prefers-color-scheme: dark)")
        blocks = [light[: light.index("}")], *([dark[: dark.index("}")]] if scheme == "dark" else [])]
        for block in blocks:
            inks |= dict(re.findall(r"--([\w-]+): ([^;]+);", block))
    return inks


def luminance(tokens: dict[str, str], name: str) -> float:
    """Relative luminance of a token's colour (WCAG 2.2)."""
    value = tokens[name]
    if match := re.fullmatch(r"var\(--([\w-]+)\)", value):
        return luminance(tokens, match[1])
    digits = value.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(tokens: dict[str, str], one: str, other: str) -> float:
    low, high = sorted((luminance(tokens, one), luminance(tokens, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_ink_stands_out(scheme: str) -> None:
    colours = tokens(scheme)
    shapes = ("pic-young", "pic-old", "pic-free", "pic-rest", "pic-now", "pic-then", "pic-other", *INDEXES)
    low = {
        (ink, ground): ratio
        for ground in GROUNDS
        for ink, least in (*((shape, SHAPE) for shape in shapes), ("pic-ink", TEXT), ("pic-quiet", TEXT))
        if (ratio := contrast(colours, ink, ground)) < least
    }
    assert low == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_on_an_ink_stands_out(scheme: str) -> None:
    colours = tokens(scheme)
    assert {ink: ratio for ink in ("pic-young", *INDEXES) if (ratio := contrast(colours, "pic-on", ink)) < TEXT} == {}
