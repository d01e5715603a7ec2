"""The memory of days on its way to the rule, and the rule beside others."""

from __future__ import annotations

from pathlib import Path

import pytest

from advisor.advice import evaluation
from advisor.advice.interpreter import Remembered
from advisor.advice.service import Service
from advisor.casetest.alterations import Alteration
from advisor.contract.recommendation import Advice
from advisor.observe.source import Replay
from advisor.observe.window import Window
from advisor.pool.errors import Unanswerable
from advisor.pool.hours import StoredHours
from advisor.rules import check
from exporter.state_file import StateFile
from tests.advisor.advice.watching import rulebook
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


def rules_of(advice: Advice) -> tuple[list[str], list[str]]:
    """Of the two rules, those that are recommended, and those that are overruled."""
    pair = (RULE, OTHER)
    return (
        [finding.rule for finding in advice.recommendations if finding.rule in pair],
        [aside.recommendation.rule for aside in advice.overruled if aside.recommendation.rule in pair],
    )


def test_a_larger_and_a_smaller_pool_are_never_advised_together() -> None:
    window, remembered = altered("mysql-9.7/hot-set-exceeds-pool")
    rules = [rule for rule in check.load(RULES_FOLDER) if rule.id in (RULE, OTHER)]
    assert rules_of(evaluation.advise([rules[0]], window, remembered=remembered)) == ([RULE], [])
    assert rules_of(evaluation.advise(rules, window, remembered=remembered)) == ([OTHER], [RULE])


async def test_the_service_gives_the_rules_the_memory_as_it_is_now(tmp_path: Path) -> None:
    window, remembered = altered("mysql-9.7/warm-pool")
    source = Replay(capture("mysql-9.7/warm-pool"))
    source.history = window.snapshots
    with StateFile(tmp_path, "db:3306") as state:
        hours = StoredHours(state)
        service = Service(source, rulebook(), hours=hours)
        assert RULE in {blind.rule for blind in (await service.assessment()).advice.blind}
        assert remembered.hours is not None
        hours.hours = tuple(remembered.hours)
        advice = (await Service(source, rulebook(), hours=hours).assessment()).advice
    [finding] = [finding for finding in advice.recommendations if finding.rule == RULE]
    assert finding.changes[0].to == 32 * MIB


async def test_the_service_remembers_the_curve_of_the_whole_window(tmp_path: Path) -> None:
    source = Replay(capture("mysql-9.7/warm-pool"))
    with StateFile(tmp_path, "db:3306") as state:
        service = Service(source, rulebook(), hours=StoredHours(state))
        with pytest.raises(Unanswerable):
            await service.curve(0.001)  # a question about another window is none of an hour
        await service.curve()
    with StateFile(tmp_path, "db:3306") as state:
        [hour] = StoredHours(state).hours
    assert hour.at == source.history[-1].at
    assert hour.sizes


@pytest.mark.parametrize("name", ["mysql-9.7/warm-pool", "mariadb-11.8/warm-pool"])
def test_without_a_memory_the_rule_names_the_cure(name: str) -> None:
    [rule] = [rule for rule in check.load(RULES_FOLDER) if rule.id == RULE]
    [blind] = evaluation.advise([rule], Window.of(Replay(capture(name)).history, float("inf"))).blind
    assert (blind.lacks, blind.cure) == ("spare.days", "run `serve --state-dir DIR` for three days")
