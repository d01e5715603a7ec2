"""The rules in force: a user's own over the built-in ones, loaded whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from advisor.files.yaml_file import FileError
from advisor.rules import check
from advisor.rules.configuration import Suppression
from advisor.rules.rulebook import Rulebook, builtin_directory
from tests.advisor.building import RULES_FOLDER, plain_rule

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a rule into a directory below the test's own."""

    def write_it(folder: str, **keys: Any) -> Path:
        directory = tmp_path / folder
        directory.mkdir(exist_ok=True)
        content = plain_rule(**keys)
        with (directory / f"{content['id']}.yaml").open("w") as file:
            YAML().dump(dict(content), file)
        return directory

    return write_it


def test_the_built_in_rules_are_those_of_the_sources() -> None:
    assert builtin_directory() == RULES_FOLDER
    rules = Rulebook(builtin_directory())
    assert [rule.id for rule in rules.rules] == sorted(rule.id for rule in rules.rules)
    assert {rules.rule_set.origins[rule.id] for rule in rules.rules} == {"built-in"}


def test_own_rules_are_added_and_stand_in_place_of_built_in_ones(write: Write) -> None:
    builtin = write("builtin", id="b", title="theirs")
    write("builtin", id="c", title="theirs")
    extra = write("extra", id="b", title="mine")
    write("extra", id="a", title="mine")
    rules = Rulebook(builtin, extra)
    assert [(rule.id, rule.file.title, rules.rule_set.origins[rule.id]) for rule in rules.rules] == [
        ("a", "mine", "your own"),
        ("b", "mine", "your own, over the built-in one"),
        ("c", "theirs", "built-in"),
    ]
    assert rules.rule_set.rule("b") is rules.rules[1]
    assert rules.rule_set.rule("absent") is None


def test_own_rules_may_be_empty_but_not_missing(write: Write, tmp_path: Path) -> None:
    builtin = write("builtin", id="a")
    (tmp_path / "empty").mkdir()
    assert len(Rulebook(builtin, tmp_path / "empty").rules) == 1
    with pytest.raises(FileError, match=r"absent: cannot read the rules: No such file or directory"):
        Rulebook(builtin, tmp_path / "absent")


def test_a_mounted_config_map_is_a_directory_of_rules(write: Write, tmp_path: Path) -> None:
    stored = write("..2026_11_21", id="mine")
    (stored / "mine.cases.yaml").write_text("- not looked at: at all\n")
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    shutil.move(stored, mounted)
    (mounted / "..data").symlink_to("..2026_11_21")
    for name in ("mine.yaml", "mine.cases.yaml"):
        (mounted / name).symlink_to(f"..data/{name}")
    (mounted / "README.md").write_text("# Not a rule")
    (mounted / ".mine.yaml.swp.yaml").write_text("an editor's")
    assert [rule.id for rule in check.load(mounted)] == ["mine"]


def test_what_is_no_file_under_the_name_of_a_rule_is_refused_by_name(write: Write) -> None:
    mounted = write("mounted", id="mine")
    os.mkfifo(mounted / "pipe.yaml")
    with pytest.raises(FileError, match=r"pipe.yaml: cannot read it: Is a named pipe"):
        check.load(mounted)
    (mounted / "pipe.yaml").unlink()
    (mounted / "folder.yaml").mkdir()  # as container engines make one where the file to mount is missing
    with pytest.raises(FileError, match=r"folder.yaml: cannot read it: Is a directory"):
        check.load(mounted)


def test_an_updated_config_map_is_loaded_anew(write: Write, tmp_path: Path) -> None:
    builtin, mounted = write("builtin", id="a"), tmp_path / "mounted"
    write("one", id="mine", title="one")
    write("two", id="mine", title="two")
    mounted.mkdir()
    (mounted / "..data").symlink_to(tmp_path / "one")
    (mounted / "mine.yaml").symlink_to("..data/mine.yaml")
    rules = Rulebook(builtin, mounted)
    before = rules.rule_set
    (mounted / "..new").symlink_to(tmp_path / "two")
    os.replace(mounted / "..new", mounted / "..data")  # noqa: PTH105 - as the kubelet does it
    rules.reload()
    assert rules.rules[1].file.title == "two"
    assert before.rules[1].file.title == "one"
    assert rules.rule_set.loaded_at >= before.loaded_at


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id: [", r"mine.yaml:\d+:\d+: "),
        ("id: other\n", r"mine.yaml:1:1: "),
        (None, r"mine.yaml: cannot read it: No such file or directory"),
    ],
)
def test_a_broken_file_is_refused_whole_and_the_old_rules_stay(write: Write, content: str | None, message: str) -> None:
    suppressed = [Suppression(rule="a")]
    extra = write("extra", id="mine", title="old")
    rules = Rulebook(write("builtin", id="a"), extra, lambda: tuple(suppressed))
    before = rules.rule_set
    write("extra", id="new")
    suppressed.clear()
    broken = extra / "mine.yaml"
    broken.unlink()
    if content is None:
        broken.symlink_to("gone")
    else:
        broken.write_text(content)
    with pytest.raises(FileError, match=message) as caught:
        rules.reload()
    assert rules.problem is caught.value
    assert rules.rule_set is before
    assert [rule.id for rule in rules.rules] == ["a", "mine"]
    assert [suppression.rule for suppression in rules.rule_set.suppressions] == ["a"]

    broken.unlink()
    rules.reload()
    assert [rule.id for rule in rules.rules] == ["a", "new"]
    assert not rules.rule_set.suppressions
    assert rules.problem is None


def test_a_file_whose_name_is_not_its_id_is_refused(write: Write) -> None:
    extra = write("extra", id="mine")
    (extra / "mine.yaml").rename(extra / "copy.yaml")
    with pytest.raises(FileError, match=r"copy.yaml:1:5: id: the file of this rule must be named mine.yaml"):
        check.load(extra)


def test_suppressed_rules_that_do_not_exist_are_warned_of(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    names = (Suppression(rule="spelt"), Suppression(rule="spelled"), Suppression(fingerprint="0" * 16))
    Rulebook(write("builtin", id="spelt"), None, lambda: names)
    assert caplog.messages == ["suppressed, but there is no such rule: spelled; did you mean spelt?"]
