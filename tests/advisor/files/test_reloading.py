"""Files are loaded again once for all who ask at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from advisor.files.reloading import Reloader, Watch
from advisor.files.yaml_file import FileError
from tests.waiting import DEADLINE, wait_for

ASKING = 20


class Files:
    """Files that take as long to load as the test wants."""

    def __init__(self) -> None:
        self.loads = 0
        self.broken = False
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def load(self, watch: Watch) -> int:
        watch.add(tuple)
        self.loads += 1
        self.begun.set()
        assert self.go_on.wait(DEADLINE)
        if self.broken:
            raise FileError("broken")
        return self.loads


@pytest.mark.parametrize("broken", [False, True])
def test_a_storm_of_reloads_is_two_loads(*, broken: bool) -> None:
    files = Files()
    reloader = Reloader(files.load, refused="no", loaded="yes")
    files.broken = broken
    files.begun.clear()
    files.go_on.clear()
    answered: list[bool | str] = []

    def ask() -> None:
        try:
            answered.append(reloader.reload())
        except FileError as error:
            answered.append(str(error))

    with ThreadPoolExecutor(ASKING + 1) as pool:
        pool.submit(ask)
        assert files.begun.wait(DEADLINE)
        for _ in range(ASKING):
            pool.submit(ask)
        wait_for(lambda: reloader._asked > ASKING)  # noqa: SLF001 - nobody else knows
        files.go_on.set()
    assert files.loads == 1 + 2  # the first, the one under way, and one for all who asked meanwhile
    assert sorted(map(str, answered)) == (["broken"] * 21 if broken else ["False"] * 19 + ["True"] * 2)


def test_a_reload_after_a_change_sees_it() -> None:
    files = Files()
    reloader = Reloader(files.load, refused="no", loaded="yes")
    assert [reloader.reload() for _ in range(3)] == [True] * 3
    assert reloader.content == 4
