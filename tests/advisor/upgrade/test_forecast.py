"""The forecast works upward for every pair of versions, and gathers what each kind of effect says."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from advisor.contract.upgrade import Cause, NotForetold, OptionLine, UpgradeEffect, UpgradeForecast, UpgradeStatement
from advisor.observe.window import Window
from advisor.render import text
from advisor.render import upgrade as documents
from advisor.upgrade.forecast import forecast
from advisor.upgrade.target import UpgradeRefused, releases
from advisor.upgrade.upgrade import Upgrade
from exporter.collectors.machine import MACHINE
from tests.advisor.building import captured

CAPTURES = (
    "mysql-5.6/counted-without-index",
    "mysql-5.7/change-buffer-merges",
    "mysql-8.0/counted-beside-index",
    "mysql-9.7/repeated-scan",
    "mariadb-10.5/change-buffer-merges",
    "mariadb-10.11/change-buffer-merges",
    "mariadb-11.8/repeated-scan",
)


def pairs() -> Iterator[tuple[str, str]]:
    """Each capture with every version that knowledge has above it, and one that is above all of them."""
    for name in CAPTURES:
        server = captured(name).latest.server
        newer = ("26.10",) if server.family == "mysql" else ("13.1",)
        yield from ((name, version) for version in (*releases(server), *newer))


@functools.cache
def foretold(name: str, to: str) -> UpgradeForecast:
    return forecast(captured(name), to)


@pytest.mark.parametrize(("name", "to"), [pytest.param(*pair, id="-to-".join(pair)) for pair in pairs()])
def test_every_version_above_has_a_forecast_in_words(name: str, to: str) -> None:
    answer = foretold(name, to)
    assert answer.server == str(captured(name).latest.server)
    assert answer.to.split()[-1] == to
    assert (answer.assumed is not None) == (to in ("26.10", "13.1"))
    assert UpgradeForecast.model_validate_json(answer.model_dump_json(by_alias=True)) == answer
    written = text.text(documents.forecast(answer))
    assert written.startswith(f"{answer.server} to {answer.to}")
    assert "None" not in written
    assert "{" not in written
    assert len({*answer.option_file}) == len({line.line.partition("=")[0] for line in answer.option_file})
    for effect in (*answer.effects, *answer.improvements):
        assert not effect.summary.endswith(".")
        assert (effect.quantity is None) == (effect.predicted is None)
        if effect.low is not None and effect.predicted is not None and effect.high is not None:
            assert effect.low <= effect.predicted <= effect.high
    reads = [effect.pages_per_second or 0 for effect in answer.effects]
    assert reads == sorted(reads, reverse=True)


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("to", ["", "newest", "8", "8.5", "5.5", "10.4", "Oracle 23"])
def test_what_is_no_version_above_is_refused_with_a_cure(name: str, to: str) -> None:
    with pytest.raises(UpgradeRefused) as refused:
        foretold(name, to)
    assert refused.value.reason
    assert refused.value.cure


@pytest.mark.parametrize("name", CAPTURES)
def test_the_same_version_an_older_one_and_the_other_flavour_are_refused(name: str) -> None:
    server = captured(name).latest.server
    same = ".".join(map(str, server.version))
    older = "5.5.8" if server.family == "mysql" else "10.4.1"
    other = "11.8" if server.family == "mysql" else "8.4"
    for to, reason in ((same, "already"), (older, "older than"), (other, "is a version of")):
        with pytest.raises(UpgradeRefused, match=reason):
            forecast(captured(name), to)


KEEP = OptionLine(line="innodb_io_capacity = 200", reason="the disk does no more")


def effect(name: str, **more: Any) -> UpgradeEffect:
    return UpgradeEffect(cause=Cause.DEFAULT, name=name, summary=name, **more)


def effects(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """Of every kind, in no order."""
    assert upgrade.before != upgrade.after
    resets = (UpgradeStatement(sql="RESET PERSIST a", reason="gone"),)
    yield effect("unknown")
    yield effect("small", pages_per_second=1, better=False, keep=(KEEP,), before=resets)
    yield effect("better", pages_per_second=-1, better=True, quantity="pages", now=2, predicted=1)
    yield effect("large", pages_per_second=100, better=False, keep=(OptionLine(line=KEEP.line, reason="warm-up"),))
    yield effect("other", keep=(OptionLine(line="innodb_io_capacity = 400", reason="less"),), before=resets)
    yield effect("best", pages_per_second=-50, better=True)
    yield NotForetold(what="a", reason="b")
    yield NotForetold(what="a", reason="b")


def test_what_effects_say_is_sorted_and_merged() -> None:
    answer = forecast(captured("mysql-8.0/idle"), "8.4", effects=(effects,))
    assert [effect.name for effect in answer.effects] == ["large", "small", "other", "unknown"]
    assert [effect.name for effect in answer.improvements] == ["best", "better"]
    assert answer.option_file == (OptionLine(line=KEEP.line, reason="warm-up; the disk does no more"),)
    assert answer.before == (UpgradeStatement(sql="RESET PERSIST a", reason="gone"),)
    assert answer.not_foretold.count(NotForetold(what="a", reason="b")) == 1
    assert "innodb_io_capacity" not in {moved.setting for moved in answer.other_changes}


def test_other_defaults_are_those_that_move_and_that_nothing_was_said_of() -> None:
    window, adaptive = captured("mysql-8.0/idle"), "innodb_adaptive_hash_index"
    moved = {moved.setting: (moved.from_, moved.to) for moved in forecast(window, "8.4", effects=()).other_changes}
    assert moved[adaptive] == ("ON", "OFF")
    said = forecast(window, "8.4", effects=(lambda _: iter((effect(adaptive),)),)).other_changes
    assert {moved.setting for moved in said} == moved.keys() - {adaptive}


def test_defaults_that_the_machine_decides_are_not_known_without_it() -> None:
    window = captured("mysql-8.0/idle")
    blind = Window(tuple(snapshot.with_section(MACHINE, None) for snapshot in window.snapshots))
    [spot] = [spot for spot in forecast(blind, "8.4").not_foretold if spot.what.startswith("the new default of ")]
    assert "innodb_read_io_threads" in spot.what
    assert spot.cure is not None
    assert "--cores" in spot.cure


def test_a_forecast_warns_of_known_bugs() -> None:
    warnings = forecast(captured("mysql-8.0/idle"), "8.4.1").warnings
    assert any("MySQL bug 115517" in warning for warning in warnings)
