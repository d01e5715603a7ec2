"""Cases are read whole, or refused with file, line and column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.casetest import cases, execution
from advisor.files.yaml_file import FileError
from advisor.rules.check import Rule
from tests.advisor.building import capture

MakeRule = Callable[..., Rule]
SCAN = capture("mysql-9.7/repeated-scan")
IDLE = capture("mysql-9.7/idle")


def write(of: Rule, text: str) -> Path:
    path = cases.path_of(of)
    path.write_text(text.format(scan=SCAN, idle=IDLE))
    return path


def test_the_recordings_path_is_relative_to_the_cases(make_rule: MakeRule) -> None:
    rule = make_rule()
    beside = rule.path.with_name("beside.jsonl.gz")
    beside.write_bytes(IDLE.read_bytes())
    write(rule, "- {{name: one, recording: beside.jsonl.gz}}\n- {{name: two, recording: '{scan}'}}\n")
    assert [case.recording for case in cases.load(rule)] == [beside, SCAN]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: cases are a list of mappings with name, recording, expect, …"),
        ("name: one\n", "1:1: cases are a list"),
        ("[]\n", "1:1: there is no case here"),
        ("- {{recording: '{idle}'}}\n", "1:3: 0.name: this key is missing"),
        ("- name: one\n  recording: '{idle}'\n  expected: []\n", "3:3: 0.expected: there is no such key"),
        ("- name: one\n  recording: absent.gz\n", "2:14: 0.recording: there is no file "),
        ("- name: one\n  recording: '{idle}'\n- name: one\n  recording: '{idle}'\n", "3:9: 1.name: another case"),
        ("- name: one\n  recording: '{idle}'\n  expect:\n    - {{change: 1}}\n", "4:8: 0.expect.0.change: there is no"),
        ("- name: one\n  recording: '{idle}'\n  expect: [{{severity: bad}}]\n", "3:23: 0.expect.0.severity: "),
        ("- name: one\n  recording: '{idle}'\n  with: {{version: x}}\n", "3:19: 0.with.version: not a server version"),
        (
            "- name: one\n  recording: '{idle}'\n  with:\n    status:\n      up: 1\n",
            "5:11: 0.with.status.up: no such name in the recording",
        ),
        (
            "- name: one\n  recording: '{idle}'\n  with: {{machine: {{coers: 1}}}}\n",
            "3:20: 0.with.machine.coers: there is no such key; there are cores, cores_source, ",
        ),
        (
            "- name: one\n  recording: '{idle}'\n  with: {{setings: {{}}}}\n",
            "3:10: 0.with.setings: there is no such key; there are version, settings, status, innodb_metrics, ",
        ),
        (
            "- name: one\n  recording: '{idle}'\n  with: {{status: {{uptime: {{per_minute: 1}}}}}}\n",
            "3:28: 0.with.status.uptime.per_minute: there is no such key; there are value, per_second",
        ),
        ("- name: [\n", "2:1: "),
    ],
)
def test_an_error_in_cases_has_its_position(make_rule: MakeRule, text: str, message: str) -> None:
    rule = make_rule()
    path = write(rule, text)
    with pytest.raises(FileError) as caught:
        cases.load(rule)
    assert str(caught.value).startswith(f"{path}:{message}")


def test_a_rule_without_cases_is_rejected(make_rule: MakeRule) -> None:
    rule = make_rule()
    with pytest.raises(FileError, match=r"plain.cases.yaml: cannot read it: No such file or directory"):
        cases.load(rule)


def test_a_damaged_recording_is_rejected(make_rule: MakeRule) -> None:
    rule = make_rule()
    rule.path.with_name("cut.jsonl").write_text('{"recording": 1}\n')
    write(rule, "- {{name: one, recording: cut.jsonl}}\n")
    [case] = cases.load(rule)
    with pytest.raises(FileError, match=r"cut.jsonl: truncated"):
        execution.run(rule, case)
