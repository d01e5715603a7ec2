"""A real Prometheus reports errors, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.processes.service import NotServing
from lab.programs.prometheus import NEWEST, OLDEST, PrometheusError, running
from tests.unavailable import or_give_up

each_suite = pytest.mark.parametrize("suite", [OLDEST, NEWEST])


@each_suite
def test_it_answers_queries_and_reports_an_invalid_one(suite: str, tmp_path: Path) -> None:
    with or_give_up(running(tmp_path, [], suite=suite)) as started:
        assert [sample.value for sample in started.query("vector(1) + 1")] == [2]
        [series] = started.query_range("time()", 1000, 1020, 10)
        assert series.values == [(1000, 1000), (1010, 1010), (1020, 1020)]
        assert started.query("no_such_metric") == []
        with pytest.raises(PrometheusError, match="unclosed left parenthesis"):
            started.query("sum(")
    assert not Path(f"/proc/{started.pid}").exists()


@each_suite
def test_an_invalid_rule_file_prevents_its_start(suite: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("groups: [{name: a, rules: [{alert: A, expr: 'sum('}]}]")
    starting = or_give_up(running(tmp_path, [], rules=[rules], suite=suite))
    with pytest.raises(NotServing, match="unclosed left parenthesis"), starting:
        pass


def test_a_changed_rule_file_is_reloaded(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("groups: [{name: a, rules: [{record: a:b:c, expr: '1'}]}]")
    with or_give_up(running(tmp_path, [], rules=[rules])) as started:
        assert [rule["name"] for rule in started.rules()] == ["a:b:c"]
        rules.write_text("groups: [{name: a, rules: [{record: d:e:f, expr: '1'}]}]")
        started.reload()
        assert [rule["name"] for rule in started.rules()] == ["d:e:f"]
        rules.write_text("groups: [{")
        with pytest.raises(PrometheusError):
            started.reload()
