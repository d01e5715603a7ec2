"""The calibration for people: a table by rule, and what was measured over what was predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from advisor.contract.recommendation import Number
from advisor.ledger.calibration import Calibration, Prediction, RuleCalibration
from advisor.render.calibration_svg import axes, place
from advisor.render.outcomes import share, signed
from advisor.render.terminal import plain_table, words

TITLES = ("rule", "promises", "kept", "median error", "largest", "bias", "not comparable", "harm")
_COLUMNS, _ROWS = 51, 16
"""Of the plot; a terminal's characters are about twice as high as wide."""
_MARKS = "abcdefghijklmnopqrstuvwxyz"
_SEVERAL, _IDEAL, _ASCII_IDEAL = "*", "·", "."


def print_calibration(out: Console, found: Calibration) -> None:
    """The table, and the plot where there is a prediction."""
    table = plain_table("", *TITLES, right=tuple(range(2, len(TITLES) + 1)))
    for mark, row in zip(_marks(found), found.rules, strict=True):
        table.add_row(*map(words, (mark, *cells(row))))
    out.print(table)
    if found.predictions:
        out.print()
        out.print("\n".join(_plot(found, ascii_only=out.options.ascii_only)))


def cells(row: RuleCalibration) -> tuple[str, ...]:
    """A line of the table, by ``TITLES``."""
    return (
        row.rule,
        f"{row.predictions}",
        f"{row.kept}",
        _known(row.median_error),
        _known(row.largest_error),
        "" if row.bias is None else signed(row.bias),
        f"{row.not_comparable}",
        f"{row.harmful}",
    )


def _known(error: Number | None) -> str:
    return "" if error is None else share(error)


def _marks(found: Calibration) -> Sequence[str]:
    """A letter for each rule; none where there are more rules than letters."""
    return [_MARKS[number] if number < len(_MARKS) else "" for number in range(len(found.rules))]


def _plot(found: Calibration, *, ascii_only: bool) -> list[str]:
    most = axes(found.predictions)
    ideal = _ASCII_IDEAL if ascii_only else _IDEAL
    grid = [[" "] * _COLUMNS for _ in range(_ROWS)]
    for column in range(_COLUMNS):
        grid[round(column / (_COLUMNS - 1) * (_ROWS - 1))][column] = ideal
    by_rule = dict(zip((each.rule for each in found.rules), _marks(found), strict=True))
    for (row, column), mark in _marked(found.predictions, by_rule, most).items():
        grid[row][column] = mark
    lines = [f"measured, by the quantity before; {ideal} as predicted"]
    for number in reversed(range(_ROWS)):
        tick = {_ROWS - 1: f"{most:.0%}", 0: "0%"}.get(number, "")
        lines.append(f"{tick:>5} |{''.join(grid[number])}".rstrip())
    predicted = "predicted"
    lines += [f"{'':>5} +{'-' * _COLUMNS}", f"{'':>5}  0%{predicted:^{_COLUMNS - 7}}{f'{most:.0%}':>5}"]
    return lines


def _marked(predictions: Sequence[Prediction], by_rule: Mapping[str, str], most: float) -> dict[tuple[int, int], str]:
    """The letter at each place; a capital where a promise was missed, an asterisk for several rules."""
    marked: dict[tuple[int, int], str] = {}
    for each in predictions:
        x, y = place(each, most)
        at = round(y * (_ROWS - 1)), round(x * (_COLUMNS - 1))
        mark = by_rule[each.rule] or _SEVERAL
        before = marked.get(at)
        if before is not None and before.lower() != mark:
            marked[at] = _SEVERAL
        elif before is None or not each.kept:
            marked[at] = mark if each.kept else mark.upper()
    return marked
