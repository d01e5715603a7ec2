"""The configuration file is understood as people write it, and refused with file, line and column."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from advisor.files.yaml_file import FileError
from advisor.rules import configuration
from advisor.rules.configuration import Configuration, ServerMachine, Suppression
from exporter.snapshot import ConfiguredMachine

WHOLE = """\
server: {cores: 8, memory: 16G, storage: ssd}
rules: my-rules   # beside this file
suppress:
  - {rule: warmup-disabled, reason: replicas live for a day, until: 2027-03-31}
  - {fingerprint: a63178a321b3b23c, reason: a report}
"""


def load(folder: Path, text: str) -> Configuration:
    path = folder / "advisor.yaml"
    path.write_text(text)
    return configuration.load(path)


def test_a_configuration_with_every_key(tmp_path: Path) -> None:
    assert load(tmp_path, WHOLE) == Configuration(
        server=ServerMachine(cores=8, memory=16 << 30, storage="ssd"),
        rules=tmp_path / "my-rules",
        suppress=(
            Suppression(rule="warmup-disabled", reason="replicas live for a day", until=date(2027, 3, 31)),
            Suppression(fingerprint="a63178a321b3b23c", reason="a report"),
        ),
    )
    assert load(tmp_path, "{}") == Configuration()
    assert load(tmp_path, "rules: /etc/rules").rules == Path("/etc/rules")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: a configuration is a mapping with server, suppress, rules"),
        ("- rules", "1:1: a configuration is a mapping"),
        ("server:\n  coers: 8\n", "2:3: server.coers: there is no such key"),
        ("server:\n  cores: many\n", "2:10: server.cores: "),
        ("server:\n  cores: 0\n", "2:10: server.cores: "),
        ("server:\n  cores: '8'\n", "2:10: server.cores: "),
        ("server:\n  memory: 16 sacks\n", "2:11: server.memory: 16 sacks is not a size such as 16G"),
        ("server:\n  memory: 16\n", "2:11: server.memory: 16 is not a size such as 16G"),
        ("server:\n  memory: -1\n", "2:11: server.memory: -1 is not a size"),
        ("server:\n  memory: yes\n", "2:11: server.memory: yes is not a size"),
        ("server: {storage: tape}\n", "1:19: server.storage: "),
        ("rules: ''\n", "1:8: rules: must not be empty"),
        ("suppress:\n  - {rule: a, until: 2027-02-30}\n", "2:22: day is out of range for month"),
        ("server: {cores: !!int many}\n", "1:17: invalid literal for int()"),
        ("suppress:\n  - {reason: why}\n", "2:5: suppress.0: name either a rule or a fingerprint"),
        ("suppress:\n  - {rule: a, fingerprint: a63178a321b3b23c}\n", "2:5: suppress.0: name either"),
        ("suppress:\n  - {fingerprint: short}\n", "2:19: suppress.0.fingerprint: "),
        ("suppress:\n  - {rule: a, until: soon}\n", "2:22: suppress.0.until: "),
        ("suppress: warmup-disabled\n", "1:11: suppress: must be a list"),
        ("server: [\n", "2:1: "),
    ],
)
def test_an_error_names_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'advisor.yaml'}:{message}")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"absent: cannot read it: No such file or directory"):
        configuration.load(tmp_path / "absent")


def test_sixteen_hexadecimal_digits_are_a_fingerprint_and_all_else_is_a_rule() -> None:
    assert configuration.suppression("a63178a321b3b23c", "so").fingerprint == "a63178a321b3b23c"
    assert configuration.suppression("warmup-disabled", "so") == Suppression(rule="warmup-disabled", reason="so")


def test_the_sampler_gets_the_configured_machine() -> None:
    assert ServerMachine(cores=2, memory=1 << 30).configured == ConfiguredMachine(2.0, 1 << 30, None)
