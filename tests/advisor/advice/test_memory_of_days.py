"""The memory of days on its way to the rule, and the rule beside others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from advisor.advice import evaluation
from advisor.advice.remembered import Remembered
from advisor.advice.service import Service
from advisor.casetest.alterations import Alteration
from advisor.contract.recommendation import Advice
from advisor.observe.source import Replay
from advisor.observe.window import Window
from advisor.pool.curve import Curve, Estimate, Size
from advisor.pool.stored_hours import StoredHours
from advisor.rules import check
from advisor.rules.rulebook import Rulebook
from exporter.state_file import StateFile
from tests.advisor.building import RULES_FOLDER, capture

RULE, OTHER = "buffer-pool-larger-than-needed", "buffer-pool-too-small"
MIB = 2**20


def altered(name: str) -> tuple[Window, Remembered]:
    """A recording, and four days in which half of its pool would have been enough."""
    history = Replay(capture(name)).history
    pool = int(history[-1].setting("innodb_buffer_pool_size") or 0)
    alteration = Alteration.model_validate(
        {
            "status": {"uptime": 500_000},
            "settings": {"innodb_buffer_pool_chunk_size": 8 * MIB},
            "memory": {"days": 4.2, "reads": {str(pool // 2): 3.0, str(pool): 1.0}},
        }
    )
    window = Window.of(alteration.apply(history), float("inf"))
    assert alteration.memory is not None
    return window, alteration.memory.remembered(window)


def found(advice: Advice) -> tuple[list[str], list[str]]:
    """Of the two rules, those that are recommended, and those that are overruled."""
    pair = (RULE, OTHER)
    return (
        [each.rule for each in advice.recommendations if each.rule in pair],
        [each.recommendation.rule for each in advice.overruled if each.recommendation.rule in pair],
    )


def test_a_larger_and_a_smaller_pool_are_never_advised_together() -> None:
    window, remembered = altered("mysql-9.7/hot-set-exceeds-pool")
    rules = [each for each in check.load(RULES_FOLDER) if each.id in (RULE, OTHER)]
    assert found(evaluation.advise([rules[0]], window, remembered=remembered)) == ([RULE], [])
    assert found(evaluation.advise(rules, window, remembered=remembered)) == ([OTHER], [RULE])


async def test_the_service_gives_the_rules_the_memory_as_it_is_now() -> None:
    window, remembered = altered("mysql-9.7/warm-pool")
    source = Replay(capture("mysql-9.7/warm-pool"))
    source.history = window.snapshots
    now = [Remembered()]
    service = Service(source, Rulebook(RULES_FOLDER), remembered=lambda: now[0])
    assert RULE in {each.rule for each in (await service.fresh_advice()).blind}
    now[0] = remembered
    service = Service(source, Rulebook(RULES_FOLDER), remembered=lambda: now[0])
    [made] = [each for each in (await service.fresh_advice()).recommendations if each.rule == RULE]
    assert made.changes[0].to == 32 * MIB


async def test_the_service_remembers_the_curve_of_the_whole_window(tmp_path: Path) -> None:
    source = Replay(capture("mysql-9.7/warm-pool"))
    latest = source.history[-1]
    reads = Estimate(1.0, 1.0, 2.0)
    sizes = tuple(Size(times, times * 64 * MIB, reads) for times in (0.5, 1.0))
    curve = Curve(latest.at, 9.0, 64 * MIB, 16_384.0, 1.0, sizes)
    with StateFile(tmp_path, "db:3306") as state:
        stored = StoredHours(state)
        service = Service(source, Rulebook(RULES_FOLDER), curve=lambda *_: replace(curve), remember=stored.remember)
        await service.curve()
    with StateFile(tmp_path, "db:3306") as state:
        [hour] = StoredHours(state).hours
    assert hour.at == latest.at
    assert [(each.bytes, each.most) for each in hour.sizes] == [(48 * MIB, 2.0)]


@pytest.mark.parametrize("name", ["mysql-9.7/warm-pool", "mariadb-11.8/warm-pool"])
def test_without_a_memory_the_rule_names_the_cure(name: str) -> None:
    [rule] = [each for each in check.load(RULES_FOLDER) if each.id == RULE]
    [blind] = evaluation.advise([rule], Window.of(Replay(capture(name)).history, float("inf"))).blind
    assert (blind.lacks, blind.cure) == ("spare.days", "run `serve --state-dir DIR` for three days")
