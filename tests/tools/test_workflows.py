"""The workflows of .github: valid, pinned, and with no right that they do not need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lab.packages.cache import REPOSITORY
from lab.programs import actionlint
from tests.unavailable import if_available

FOLDER = REPOSITORY / ".github" / "workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
HOST = re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.(?:io|com|org|net|dev)\b")


def read(path: Path) -> dict[str, Any]:
    workflow: dict[str, Any] = YAML(typ="safe").load(path)
    return workflow


def test_there_are_the_tests_and_the_release() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "release.yml"]


@pytest.mark.system
@each_workflow
def test_actionlint_finds_no_problem(path: Path) -> None:
    assert if_available(actionlint.check, path) == ""


@pytest.mark.system
def test_actionlint_would_find_one(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    text = (FOLDER / "release.yml").read_text(encoding="utf-8")
    broken.write_text(text.replace("needs.build.outputs.version", "needs.built.outputs.version"), encoding="utf-8")
    assert "built" in if_available(actionlint.check, broken)


@each_workflow
def test_every_action_is_pinned_by_its_commit_beside_its_version(path: Path) -> None:
    uses = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert uses
    assert [use for use in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


@each_workflow
def test_no_host_of_a_registry_is_named(path: Path) -> None:
    assert HOST.findall(path.read_text(encoding="utf-8")) == []


@each_workflow
def test_no_script_holds_an_expression_that_a_stranger_could_write_into(path: Path) -> None:
    runs = [step["run"] for job in read(path)["jobs"].values() for step in job["steps"] if "run" in step]
    assert runs
    assert [run for run in runs if "${{" in run] == []


def test_only_the_environment_that_a_person_approves_may_publish() -> None:
    workflow = read(FOLDER / "release.yml")
    assert workflow["permissions"] == {}
    rights = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    assert rights == {
        "build": {"contents": "read"},
        "image": {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"},
        "chart": {"packages": "write"},
        "package": {"contents": "write", "id-token": "write", "attestations": "write"},
    }
    writing = {name for name, permissions in rights.items() if "write" in permissions.values()}
    assert {name for name, job in workflow["jobs"].items() if job.get("environment") == "release"} == writing


def test_the_package_is_published_last_because_an_index_never_takes_it_back() -> None:
    jobs = read(FOLDER / "release.yml")["jobs"]
    assert jobs["image"]["needs"] == "build"
    assert jobs["chart"]["needs"] == ["build", "image"]
    assert jobs["package"]["needs"] == ["build", "chart"]


def test_the_image_is_for_both_platforms_with_its_attestations() -> None:
    steps = read(FOLDER / "release.yml")["jobs"]["image"]["steps"]
    [pushed] = [step["with"] for step in steps if step.get("uses", "").startswith("docker/build-push-action@")]
    assert pushed["platforms"] == "linux/amd64,linux/arm64"
    assert (pushed["sbom"], pushed["provenance"]) == (True, "mode=max")


def test_only_a_tag_starts_the_release_and_it_is_compared_first() -> None:
    workflow = read(FOLDER / "release.yml")
    assert workflow["on"] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}
    runs = [step.get("run", "") for step in workflow["jobs"]["build"]["steps"]]
    check = next(number for number, run in enumerate(runs) if "tools.dist --check --tag" in run)
    assert check < next(number for number, run in enumerate(runs) if "make dist" in run)
