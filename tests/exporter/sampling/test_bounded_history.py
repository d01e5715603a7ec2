"""A history has a bounded length, and a bounded size whatever the server sends."""

from __future__ import annotations

from exporter.sampling.bounded_history import MOST_BYTES, BoundedHistory, affordable_bytes
from exporter.sampling.shared_columns import share
from exporter.server import identify
from exporter.snapshot import Snapshot, Table

SERVER = identify({"version": "9.7.4", "version_comment": ""})
NAMES = 100


def named(at: float, prefix: str) -> Snapshot:
    return Snapshot(
        at, SERVER, "a@b", sections={"table_scans": share({Table(prefix, f"t{n}"): n for n in range(NAMES)})}
    )


def test_it_keeps_the_newest_of_a_length() -> None:
    history = BoundedHistory((named(at, "shop") for at in range(5)), 3)
    assert [each.at for each in history] == [2, 3, 4]


def test_new_names_in_each_answer_shorten_it() -> None:
    history = BoundedHistory((), 100, most_bytes=1 << 18)
    for at in range(100):
        history.append(named(at, f"schema {at} " + "x" * 500))
    assert 2 <= len(history) < 20
    assert history[-1].at == 99


def test_the_same_names_fill_its_whole_length() -> None:
    history = BoundedHistory((), 100, most_bytes=1 << 18)
    snapshot = named(0, "shop")
    for at in range(100):
        history.append(Snapshot(at, SERVER, "a@b", sections=snapshot.sections))
    assert len(history) == 100


def test_the_newest_is_replaced() -> None:
    history = BoundedHistory((named(at, "shop") for at in range(3)), 3)
    assert history.pop().at == 2
    history.append(named(9, "shop"))
    assert [each.at for each in history] == [0, 1, 9]


def test_a_container_gives_it_an_eighth_at_most() -> None:
    assert affordable_bytes(64 << 20) == 8 << 20
    assert affordable_bytes(None) == affordable_bytes(24 << 30) == MOST_BYTES
