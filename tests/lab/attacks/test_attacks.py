"""The frame of the attacks: their verdicts, their record and report; and the short form against a real sidecar."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner

from lab.attacks import __main__ as command
from lab.attacks import probe, record, report
from lab.attacks.attack import Attack, Line, Stage
from lab.attacks.probe import Latencies
from lab.attacks.registry import ATTACKS
from lab.campaign import records
from lab.campaign.progress import Reporter
from lab.processes.service import NotServing
from tests.unavailable import give_up

KEPT, BROKEN = Line("memory", "≤ 48 MiB", "40 MiB", kept=True), Line("memory", "≤ 48 MiB", "74 MiB", kept=False)


class Rounds:
    """An attack whose lines are these, round by round."""

    def __init__(self, *rounds: Line | Exception) -> None:
        self.left = list(rounds)

    def __call__(self, _: Stage) -> Iterable[Line]:
        found = self.left.pop(0)
        if isinstance(found, Exception):
            raise found
        return (found,)


class AnyStage:
    """Enough of a stage for attacks that only pretend."""

    def __init__(self, *, short: bool = False) -> None:
        self.short = short


def lines_of(*rounds: Line | Exception) -> tuple[Line, ...]:
    return command.make(Attack("made-up", "nothing", Rounds(*rounds)), AnyStage(), Reporter(1.0))  # type: ignore[arg-type]


def test_every_attack_is_registered_by_its_name_and_says_what_the_attacker_does() -> None:
    for name, attack in ATTACKS.items():
        assert attack.name == name
        assert attack.title
        assert attack.seconds[1] <= attack.seconds[0]
    listed = CliRunner().invoke(command.main, ["--list"]).output
    assert [line.partition(":")[0] for line in listed.splitlines()] == list(ATTACKS)


def test_a_bound_is_broken_if_it_breaks_twice() -> None:
    assert lines_of(KEPT) == (KEPT,)
    assert lines_of(BROKEN, KEPT) == (KEPT,)
    assert lines_of(BROKEN, BROKEN) == (BROKEN,)
    rounds = Attack("made-up", "nothing", Rounds(BROKEN, BROKEN, KEPT))
    assert command.make(rounds, AnyStage(short=True), Reporter(1.0)) == (KEPT,)  # type: ignore[arg-type]


def test_an_attack_after_which_the_sidecar_no_longer_answers_has_broken_a_bound() -> None:
    (line,) = lines_of(NotServing("it is gone"), NotServing("it is gone"))
    assert not line.kept
    assert "it is gone" in line.measured


def test_the_record_keeps_the_attacks_that_were_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    attacks = {name: Attack(name, f"does {name}", Rounds()) for name in ("first", "second")}
    assert report.section(attacks) == ""
    record.save({"second": [KEPT], "gone": [KEPT]}, "9.7.4", ["second", "gone"])
    record.save({"first": [KEPT, BROKEN]}, "9.7.4", list(attacks))
    assert list(record.load().attacks) == ["first", "second"]
    table = report.section(attacks)
    assert (
        "| `first`: does first | memory | ≤ 48 MiB | 40 MiB |\n|  | memory | ≤ 48 MiB | **74 MiB** (broken) |" in table
    )
    assert "MySQL 9.7.4" in table


def test_the_scrape_and_the_probes_are_compared_with_an_idle_sidecar() -> None:
    before = Latencies(ms=dict.fromkeys(probe.PATHS, (1.0,) * 98 + (10.0, 90.0)), failures={})
    assert before.p99("/metrics") == 10.0
    slow = Latencies(
        ms={"/metrics": (111.0,) * 10, "/healthz": (1.0,), "/readyz": (1.0,)}, failures={"/readyz: 503": 1}
    )
    assert [line.kept for line in probe.lines(before, before, short=False)] == [True, True, True]
    metrics, probes, refused = probe.lines(before, slow, short=False)
    assert [metrics.kept, probes.kept, refused.kept] == [False, True, False]
    assert refused.measured == "1 × /readyz: 503"
    assert [line.kept for line in probe.lines(before, slow, short=True)] == [True, True, False]


def test_a_live_attack_is_made_on_a_real_sidecar_beside_a_load() -> None:
    result = CliRunner().invoke(command.main, ["--short", "--only", "idle"])
    if result.exit_code == command.UNAVAILABLE:
        give_up(result.output)
    assert "p99 of /metrics" in result.output
    assert "anonymous memory" in result.output
