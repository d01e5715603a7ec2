"""Where errors vanish: Newton's method for a few unknowns, and the Illinois method for one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class _Search:
    """Limits of a search: they decide how long it takes, and not where it ends.

    Attributes:
        iterations: Steps of Newton's method.
        accuracy: Error of a solution. Errors are logarithms of what is too long or too often.
        tiny: A step that slopes are measured by.
        slowly: Part of the error that is left by a step: slopes of an earlier point lead no further then.
        smallest_step: Part of a step: shorter ones lead nowhere.
        longest_step: Most that a step changes a coordinate by: these are logarithms of times and rates.
        relaxations: Steps of one coordinate at a time, where lengths change suddenly with the times.
        nearly: Error of a solution there, where the steps come no nearer.
        damped: Part of a step there.
        cuts: Of an interval by the Illinois method: even halving would be exact to the last digit.
    """

    iterations: int = 40
    accuracy: float = 1e-5
    tiny: float = 1e-4
    slowly: float = 0.3
    smallest_step: float = 0.03
    longest_step: float = 2.0
    relaxations: int = 100
    nearly: float = 0.01
    damped: float = 0.3
    cuts: int = 60


_SEARCH = _Search()
Point = tuple[float, ...]
T = TypeVar("T")
_Slopes = Sequence[Sequence[float]]


def search(evaluate: Callable[[Point], tuple[Point, T]], at: Point) -> T | None:
    """The solution at the point where all errors vanish.

    Args:
        evaluate: The errors at a point, each of which rises with its own coordinate, and the solution there.
        at: Where the search begins.

    Returns:
        None where the search ends elsewhere.
    """
    best = evaluate(at)
    slopes: _Slopes | None = None
    for _ in range(_SEARCH.iterations):
        error = max(map(abs, best[0]))
        if error < _SEARCH.accuracy:
            return best[1]
        fresh = slopes is None
        slopes = slopes or _slopes(evaluate, at, best[0])
        step = _newton(slopes, best[0])
        length = min(1.0, _SEARCH.longest_step / max(map(abs, step)))
        tried = _moved(at, step, length)
        better = evaluate(tried)
        if not fresh and max(map(abs, better[0])) > _SEARCH.slowly * error:
            slopes = None  # those of an earlier point lead no further
            if _squares(better[0]) < _squares(best[0]):
                at, best = tried, better
            continue
        while length > _SEARCH.smallest_step and _squares(better[0]) >= _squares(best[0]):
            length /= 2
            tried = _moved(at, step, length)
            better = evaluate(tried)
        if length <= _SEARCH.smallest_step:  # one coordinate at a time, as its own error asks for
            slopes = None
            tried = _moved(at, best[0], -0.5)
            better = evaluate(tried)
        at, best = tried, better
    return _relaxed(evaluate, at)


def _relaxed(evaluate: Callable[[Point], tuple[Point, T]], at: Point) -> T | None:
    """Small steps, one coordinate at a time, where slopes change so suddenly that Newton's method goes round.

    So they do where a page would just be moved in the young sublist, or not.
    """
    nearest, least = None, _SEARCH.nearly
    for _ in range(_SEARCH.relaxations):
        error, solution = evaluate(at)
        worst = max(map(abs, error))
        if worst < least:
            nearest, least = solution, worst
        if worst < _SEARCH.accuracy:
            break
        at = _moved(at, error, -_SEARCH.damped)
    return nearest


def _slopes(evaluate: Callable[[Point], tuple[Point, T]], at: Point, error: Point) -> _Slopes:
    """How the errors change with each coordinate: a row for each error."""
    columns = []
    for axis in range(len(at)):
        there = evaluate(tuple(coordinate + _SEARCH.tiny * (number == axis) for number, coordinate in enumerate(at)))[0]
        columns.append([(after - before) / _SEARCH.tiny for after, before in zip(there, error, strict=True)])
    return list(zip(*columns, strict=True))


def _newton(slopes: _Slopes, error: Point) -> Point:
    """The step to where the errors vanish if they change as here: Gaussian elimination with pivots."""
    rows = [[*row, -part] for row, part in zip(slopes, error, strict=True)]
    for axis in range(len(rows)):
        pivot = max(range(axis, len(rows)), key=lambda number: abs(rows[number][axis]))
        if abs(rows[pivot][axis]) < 1e-12:
            return _moved(error, error, -2.0)
        rows[axis], rows[pivot] = rows[pivot], rows[axis]
        for number, row in enumerate(rows):
            if number != axis:
                factor = row[axis] / rows[axis][axis]
                rows[number] = [value - factor * other for value, other in zip(row, rows[axis], strict=True)]
    return tuple(row[-1] / row[axis] for axis, row in enumerate(rows))


def _moved(at: Point, step: Point, length: float) -> Point:
    return tuple(coordinate + length * by for coordinate, by in zip(at, step, strict=True))


def _squares(error: Point) -> float:
    return math.fsum(part**2 for part in error)


def root(error: Callable[[float], float], low: float, high: float, close: float) -> float:
    """Where an error that rises from low to high vanishes, by the Illinois method; else the nearer end.

    Args:
        error: Of a number.
        low: The least number to try.
        high: The largest.
        close: Accuracy, absolute.
    """
    below, above = error(low), error(high)
    if below >= 0.0:
        return low
    if above <= 0.0:
        return high
    middle = high
    for _ in range(_SEARCH.cuts):
        middle = high - above * (high - low) / (above - below)
        error_there = error(middle)
        if not error_there or high - low < close:
            return middle
        if error_there > 0.0:
            high, above, below = middle, error_there, below / 2.0
        else:
            low, below, above = middle, error_there, above / 2.0
    return middle
