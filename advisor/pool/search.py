"""Newton's method for a few unknowns, with what helps where slopes change suddenly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

_ITERATIONS, _ACCURACY, _TINY, _SLOWLY = 40, 1e-5, 1e-4, 0.3
_NEARLY, _RELAXATIONS, _DAMPED = 0.01, 100, 0.3
"""Accuracy that will do where lengths change suddenly with the times, and the steps to come there."""
_SMALLEST_STEP = 0.03
"""Part of a step: shorter ones lead nowhere."""
_LONGEST_STEP = 2.0
"""Most that a step changes a coordinate by: these are logarithms of times and rates."""

Point = tuple[float, ...]
T = TypeVar("T")
_Slopes = Sequence[Sequence[float]]


def search(evaluate: Callable[[Point], tuple[Point, T]], at: Point) -> T | None:
    """What belongs to the point where all errors are none.

    Args:
        evaluate: The errors at a point, each of which rises with its own coordinate, and what belongs to the point.
        at: Where the search begins.

    Returns:
        None where no such point is found.
    """
    found = evaluate(at)
    slopes: _Slopes | None = None
    for _ in range(_ITERATIONS):
        error = max(map(abs, found[0]))
        if error < _ACCURACY:
            return found[1]
        fresh = slopes is None
        slopes = slopes or _slopes(evaluate, at, found[0])
        step = _newton(slopes, found[0])
        length = min(1.0, _LONGEST_STEP / max(map(abs, step)))
        tried = _moved(at, step, length)
        better = evaluate(tried)
        if not fresh and max(map(abs, better[0])) > _SLOWLY * error:
            slopes = None  # those of an earlier point lead no further
            if _squares(better[0]) < _squares(found[0]):
                at, found = tried, better
            continue
        while length > _SMALLEST_STEP and _squares(better[0]) >= _squares(found[0]):
            length /= 2
            tried = _moved(at, step, length)
            better = evaluate(tried)
        if length <= _SMALLEST_STEP:  # one coordinate at a time, as its own error asks for
            slopes = None
            tried = _moved(at, found[0], -0.5)
            better = evaluate(tried)
        at, found = tried, better
    return _relaxed(evaluate, at)


def _relaxed(evaluate: Callable[[Point], tuple[Point, T]], at: Point) -> T | None:
    """Small steps, one coordinate at a time, where slopes change so suddenly that Newton's method goes round.

    So they do where a page would just be moved in the young sublist, or not.
    """
    for _ in range(_RELAXATIONS):
        error, found = evaluate(at)
        if max(map(abs, error)) < _NEARLY:
            return found
        at = _moved(at, error, -_DAMPED)
    return None


def _slopes(evaluate: Callable[[Point], tuple[Point, T]], at: Point, error: Point) -> _Slopes:
    """How the errors change with each coordinate: a row for each error."""
    columns = []
    for axis in range(len(at)):
        there = evaluate(tuple(each + _TINY * (number == axis) for number, each in enumerate(at)))[0]
        columns.append([(after - before) / _TINY for after, before in zip(there, error, strict=True)])
    return list(zip(*columns, strict=True))


def _newton(slopes: _Slopes, error: Point) -> Point:
    """The step at whose end the errors are none, if they change as here: Gaussian elimination with pivots."""
    rows = [[*some, -each] for some, each in zip(slopes, error, strict=True)]
    for axis in range(len(rows)):
        pivot = max(range(axis, len(rows)), key=lambda number: abs(rows[number][axis]))
        if abs(rows[pivot][axis]) < 1e-12:
            return _moved(error, error, -2.0)
        rows[axis], rows[pivot] = rows[pivot], rows[axis]
        for number, row in enumerate(rows):
            if number != axis:
                factor = row[axis] / rows[axis][axis]
                rows[number] = [each - factor * other for each, other in zip(row, rows[axis], strict=True)]
    return tuple(row[-1] / row[axis] for axis, row in enumerate(rows))


def _moved(at: Point, step: Point, length: float) -> Point:
    return tuple(each + length * by for each, by in zip(at, step, strict=True))


def _squares(error: Point) -> float:
    return math.fsum(each**2 for each in error)
