"""Entries of the cache are whole or absent, and are created once."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lab.packages import cache


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INNODB_ADVISOR_CACHE", str(tmp_path))
    return tmp_path


def test_two_processes_at_once_create_an_entry_once() -> None:
    made: list[Path] = []

    def make(root: Path) -> None:
        made.append(root)
        time.sleep(0.1)
        (root / "file").touch()

    with ThreadPoolExecutor(2) as pool:
        kept = {future.result() for future in [pool.submit(cache.kept, "some/tree", make) for _ in range(2)]}
    assert len(made) == 1
    assert [(path / "file").exists() for path in kept] == [True]


def test_a_failure_leaves_nothing_and_is_tried_again(folder: Path) -> None:
    def fail(root: Path) -> None:
        (root / "half").touch()
        raise cache.Unavailable("no")

    with pytest.raises(cache.Unavailable):
        cache.kept("tree", fail)
    assert [path.name for path in folder.iterdir()] == [".tree.lock"]
    assert cache.kept("tree", lambda root: (root / "whole").touch()).joinpath("whole").exists()


def test_leftovers_of_a_killed_process_are_removed(folder: Path) -> None:
    (folder / ".tree.abc").mkdir()
    cache.kept("tree", lambda _root: None)
    assert not (folder / ".tree.abc").exists()
