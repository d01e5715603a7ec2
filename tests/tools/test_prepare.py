from __future__ import annotations

import pytest
from click.testing import CliRunner

from lab.packages.cache import UnavailableHere
from tools import prepare


def missing() -> None:
    raise UnavailableHere("no such host")


def test_what_is_unavailable_is_named_last_after_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "THINGS", {"a": missing, "b": lambda: None, "c": missing, "d": missing})
    monkeypatch.setattr(prepare, "RINGS", {"test": ("a", "b", "c"), "test-system": ("d",)})
    outcome = CliRunner().invoke(prepare.main, ["test"])
    assert outcome.exit_code == 2
    assert outcome.stdout.startswith("b: ")
    assert sorted(outcome.stderr.splitlines()) == [f"{name} is unavailable here: no such host" for name in "ac"]


def test_every_ring_names_things_that_there_are() -> None:
    assert {name for names in prepare.RINGS.values() for name in names} == set(prepare.THINGS)
