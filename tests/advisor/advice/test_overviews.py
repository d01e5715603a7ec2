"""An overview is made once for each snapshot, and less often where it takes long."""

from __future__ import annotations

import pytest

from advisor.advice.overviews import Overviews
from advisor.observe.window import Window
from advisor.overview.overview import Overview, overview
from tests.advisor.advice.watching import Watched


class Made:
    """Makes overviews that take so many seconds of a core."""

    def __init__(self, shown: int, seconds: float) -> None:
        self.source, self.made, self.now, self.spent, self.seconds = Watched(shown), 0, 0.0, 0.0, seconds
        self.kept = Overviews(self.source, make=self.make, clock=lambda: self.now, core=lambda: self.spent)

    def make(self, window: Window) -> Overview:
        self.made += 1
        self.spent += self.seconds
        return overview(window)

    async def at(self, longest: float = 300.0) -> float | None:
        found = await self.kept.newest(longest)
        return None if found is None else found.at


async def test_there_is_none_before_the_first_snapshot() -> None:
    assert await Made(0, 0.0).at() is None


async def test_each_snapshot_has_one_and_the_server_is_not_asked() -> None:
    made = Made(2, 0.001)
    for shown in (2, 3, 4):
        assert [await made.at() for _ in range(3)] == [made.source.history[-1].at] * 3
        assert made.made == shown - 1
        made.source.show()
    assert (made.source.collections, made.source.asked) == (0, 0)


@pytest.mark.parametrize(("seconds", "rest"), [(0.005, 0.0), (0.1, 19.0)])
async def test_one_that_takes_long_is_made_less_often(seconds: float, rest: float) -> None:
    made = Made(2, seconds)
    first = await made.at()
    made.source.show()
    if rest:
        made.now = rest - 0.1
        assert await made.at() == first
    made.now = rest + 0.1
    assert await made.at() == made.source.history[-1].at


async def test_lengths_of_windows_are_kept_apart_and_only_a_few() -> None:
    made = Made(4, 0.0)
    for longest in (300.0, 60.0, 300.0, 60.0):
        await made.at(longest)
    assert made.made == 2
    for longest in (1.0, 2.0, 3.0, 300.0):
        await made.at(longest)
    assert made.made == 6
