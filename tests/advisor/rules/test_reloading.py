"""Rules and configuration that change under a running `serve` are loaded anew, and nobody has to say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.files.yaml_file import FileError
from advisor.rules.configuration import Suppression
from advisor.rules.rulebook import Rulebook
from tests.advisor.building import RECORDING, capture
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import values, write_rule
from tests.waiting import wait_for


class Mounted:
    """A directory as the kubelet keeps it for a ConfigMap: each file a link through ``..data``, which it swaps."""

    def __init__(self, folder: Path) -> None:
        self.path = folder
        folder.mkdir()
        self._number = 0

    def update(self, *rule_ids: str, **keys: object) -> None:
        """Rules with these ids, and these keys over those of a plain one; in the kubelet's order."""
        before = (self.path / "..data").readlink() if self._number else None
        self._number += 1
        stored = self.path / f"..2026_11_21_{self._number}"
        stored.mkdir()
        for rule_id in rule_ids:
            write_rule(stored, id=rule_id, **keys)
        (self.path / "..data_tmp").symlink_to(stored.name)
        os.replace(self.path / "..data_tmp", self.path / "..data")  # noqa: PTH105 - as the kubelet does it
        for name in {f"{rule_id}.yaml" for rule_id in rule_ids} - {path.name for path in self.path.iterdir()}:
            (self.path / name).symlink_to(f"..data/{name}")
        for link in self.path.glob("*.yaml"):
            if not link.exists():
                link.unlink()
        if before is not None:
            shutil.rmtree(self.path / before)


@pytest.fixture
def mounted(tmp_path: Path) -> Mounted:
    return Mounted(tmp_path / "mounted")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "advisor.yaml"
    path.write_text("suppress: []\n")
    return path


@pytest.fixture
def builtin(tmp_path: Path) -> Path:
    folder = tmp_path / "builtin"
    folder.mkdir()
    write_rule(folder, id="builtin")
    return folder


@pytest.fixture
def rules(builtin: Path, mounted: Mounted, config: Path) -> Rulebook:
    mounted.update("mine")
    return Rulebook(builtin, mounted.path, tuple, config)


def own(sidecar: InProcess) -> dict[str, str]:
    """The severities of the user's rules in force, by id."""
    rules = sidecar.get("/rules").json()["rules"]
    return {rule["id"]: rule["severity"] for rule in rules if rule["origin"] != "built-in"}


def loaded(sidecar: InProcess) -> float:
    return values(sidecar.get("/metrics").text)["innodb_advisor_rules_last_reload_successful", frozenset()]


def test_a_running_sidecar_follows_its_config_map_and_its_configuration(mounted: Mounted, config: Path) -> None:
    mounted.update("mine", "former", severity="info")
    with InProcess("--recording", capture(RECORDING), "--rules", mounted.path, "--config", config) as sidecar:
        follow(sidecar, mounted, config)


def follow(sidecar: InProcess, mounted: Mounted, config: Path) -> None:
    assert own(sidecar) == {"mine": "info", "former": "info"}

    broken = mounted.path / "broken.yaml"
    broken.write_text("id: broken\n")  # half of it
    refused = f"not loaded, the old rules stay in force: {broken}:1:1: title: this key is missing"
    wait_for(lambda: refused in sidecar.log())
    assert loaded(sidecar) == 0
    assert own(sidecar) == {"mine": "info", "former": "info"}

    # All at once: the file whole, a rule changed, one added, one gone, one suppressed, and what needs a new start.
    config.write_text("server: {cores: 8}\nsuppress: [{rule: another}]\n")
    mounted.update("mine", "another", severity="critical")
    write_rule(mounted.path, id="broken")
    wait_for(lambda: " rules and 1 suppressions" in sidecar.log())
    assert loaded(sidecar) == 1
    assert own(sidecar) == {"mine": "critical", "another": "critical", "broken": "warning"}
    assert [finding["recommendation"]["rule"] for finding in sidecar.get("/advise").json()["suppressed"]] == ["another"]
    assert f"{config}: server and rules take effect at the next start" in sidecar.log()


def rewrite(path: Path) -> None:
    """As editors do."""
    new = path.with_suffix(".new")
    new.write_bytes(path.read_bytes())
    new.replace(path)


CHANGES: dict[str, Callable[[Mounted, Path], object]] = {
    "updated": lambda mounted, _: mounted.update("mine", severity="critical"),
    "a rule more": lambda mounted, _: mounted.update("mine", "another"),
    "a rule less": lambda mounted, _: mounted.update(),
    "a plain file beside the links": lambda mounted, _: write_rule(mounted.path, id="another"),
    "a link that leads nowhere": lambda mounted, _: (mounted.path / "gone.yaml").symlink_to("nowhere"),
    "the directory is gone": lambda mounted, _: shutil.rmtree(mounted.path),
    "the configuration rewritten": lambda _, config: config.write_text("suppress: [{rule: a}]\n"),
    "the configuration replaced": lambda _, config: rewrite(config),
    "the configuration gone": lambda _, config: config.unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_every_change_is_seen_once(
    rules: Rulebook, mounted: Mounted, config: Path, change: Callable[[Mounted, Path], object]
) -> None:
    assert not rules.changed()
    change(mounted, config)
    assert rules.changed()
    try:
        rules.reload()
    except FileError:
        assert rules.problem is not None
    assert not rules.changed()


@pytest.mark.parametrize("name", ["README.md", ".mine.yaml.swp", "mine.cases.yaml"])
def test_what_is_no_rule_is_not_looked_at(rules: Rulebook, mounted: Mounted, name: str) -> None:
    (mounted.path / name).write_text("…")
    assert not rules.changed()


def test_built_in_rules_change_with_the_program_only(builtin: Path) -> None:
    rules = Rulebook(builtin)
    write_rule(builtin, id="another")
    assert not rules.changed()


def test_a_file_that_changes_while_it_is_read_is_read_again(builtin: Path, mounted: Mounted) -> None:
    mounted.update("mine")

    def meanwhile() -> tuple[Suppression, ...]:
        mounted.update("mine", severity="critical")
        return ()

    assert Rulebook(builtin, mounted.path, meanwhile).changed()
