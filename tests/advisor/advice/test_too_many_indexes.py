"""A server with more indexes than are read: the rules that need them are blind, and say why."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from advisor.advice import evaluation
from advisor.observe.source import Replay
from advisor.observe.window import Window
from exporter.collectors.indexes import INDEXES, MOST
from tests.advisor.building import advised, built_in_rule, built_in_rules, capture, captured

RULE = "change-buffer-too-small"
SOURCE = "mysql-9.7/change-buffer-small"


def test_the_rules_that_need_them_are_blind_with_a_cure(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl.gz"
    with gzip.open(capture(SOURCE), "rt") as plain, gzip.open(path, "wt", compresslevel=1) as many:
        for text in plain:
            line = json.loads(text)
            if line.get("answer") == INDEXES.name and "results" in line:
                [result] = line["results"]
                result["rows"] += [["shop/other", f"k{number}", 0] for number in range(MOST)]
            many.write(json.dumps(line) + "\n")
    rule, blind_spot = built_in_rule(RULE), built_in_rule("blind-spot")
    assert [finding.rule for finding in advised(captured(SOURCE), rule).recommendations] == [RULE]
    window = Window.of(Replay(path).history, float("inf"))
    outcome = window.latest.outcomes[INDEXES.name]
    assert window.latest[INDEXES] is None
    assert outcome.reason == "there are more than 30,000 secondary indexes, the most that the sidecar reads"
    advice = evaluation.advise([blind_spot, rule], window, beside=built_in_rules())
    assert {finding.rule for finding in advice.recommendations} == {blind_spot.id}
    [blind] = [blind for blind in advice.blind if blind.rule == RULE]
    assert (blind.lacks, blind.reason, blind.cure) == (INDEXES.name, outcome.reason, outcome.cure)
    [cured] = [finding for finding in advice.recommendations if finding.rule == "blind-spot"]
    assert f"To make indexes readable: {outcome.cure}" in cured.actions[0].do
    assert not cured.actions[0].apply
