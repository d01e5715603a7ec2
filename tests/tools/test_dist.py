"""`make dist`: the parts that need no network, and, as part of the system's tests, all of it but the image."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from exporter import __version__
from lab.packages import debian
from lab.packages.cache import REPOSITORY, UnavailableHere
from tests.unavailable import give_up
from tools.command import BuildFailed, run
from tools.dist import package, version
from tools.dist.__main__ import main
from tools.image import base

CHART = 'version: 1.2.3\nappVersion: "1.2.3"\n'
CHANGELOG = "# Changelog\n\n## 1.2.3 (2027-01-05)\n\n- A thing.\n\n## 1.2.2 (2026-12-01)\n"


def test_this_tree_has_one_version() -> None:
    assert version.here(None) == []


def test_a_release_whose_parts_agree_has_nothing_to_say() -> None:
    assert version.disagreements("v1.2.3", CHART, CHANGELOG, "1.2.3") == []


@pytest.mark.parametrize(
    ("tag", "chart_text", "changelog", "words"),
    [
        ("v1.2.4", CHART, CHANGELOG, "the tag must be v1.2.3"),
        ("1.2.3", CHART, CHANGELOG, "the tag must be v1.2.3"),
        ("v1.2.3", CHART.replace("version: 1.2.3", "version: 1.2.2"), CHANGELOG, "the chart's version is 1.2.2"),
        ("v1.2.3", CHART.replace('"1.2.3"', '"1.2.2"'), CHANGELOG, "the chart's appVersion is 1.2.2"),
        ("v1.2.3", CHART, CHANGELOG.replace("## 1.2.3 (2027-01-05)\n", ""), "CHANGELOG.md begins with 1.2.2"),
        ("v1.2.3", CHART, CHANGELOG.replace("2027-01-05", "unreleased"), "write the day of the release"),
    ],
)
def test_each_disagreement_is_said(tag: str, chart_text: str, changelog: str, words: str) -> None:
    [disagreement] = version.disagreements(tag, chart_text, changelog, "1.2.3")
    assert words in disagreement


def test_a_wrong_tag_ends_with_1_and_builds_nothing(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(main, ["--tag", "v99.0.0", "--into", str(tmp_path / "dist")])
    assert outcome.exit_code == 1
    assert f"the tag must be v{__version__}" in outcome.output
    assert not (tmp_path / "dist").exists()


def test_the_help_teaches() -> None:
    output = CliRunner().invoke(main, ["--help"]).output
    for word in ("--without-image", "--architecture", "Examples:", "Exit codes:", "Nothing is published"):
        assert word in output


def test_a_program_that_fails_is_quoted() -> None:
    with pytest.raises(BuildFailed, match=r"^the thing: no such luck$"):
        run(sys.executable, "-c", "raise SystemExit('no such luck')", what="the thing")


def test_an_architecture_that_does_not_run_here_is_refused_with_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "architecture", lambda: "amd64")
    base.require_emulation("amd64", tmp_path)
    with pytest.raises(UnavailableHere, match=r"qemu-user-static.*--architecture amd64"):
        base.require_emulation("arm64", tmp_path)
    (tmp_path / "qemu-aarch64").write_text("enabled\ninterpreter /usr/bin/qemu-aarch64-static\n", encoding="utf-8")
    base.require_emulation("arm64", tmp_path)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    into = tmp_path_factory.mktemp("built")
    yield from package._built(REPOSITORY, into, "sdist", "*.tar.gz")  # noqa: SLF001 - a step of the build


def test_the_source_has_what_packagers_need_and_nothing_of_this_machine(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        owners = {(member.uid, member.gid, member.mtime) for member in archive}
    assert {"LICENSE", "pyproject.toml", "systemd/innodb-advisor.service", "docs/man/innodb-advisor.1"} <= names
    assert not [name for name in names if name.startswith(("tests/", "lab/", ".venv"))]
    assert owners == {(0, 0, int(package.epoch()))}


def test_a_wheel_that_is_another_one_the_second_time_is_refused(tmp_path: Path) -> None:
    for name, content in (("a", b"1"), ("b", b"2")):
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BuildFailed, match="a is another one"):
        package._equal(tmp_path / "a", tmp_path / "b")  # noqa: SLF001


@pytest.mark.system
def test_all_of_it_but_the_image_is_built_and_checked(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.dist", "--without-image", "--into", str(tmp_path / "dist")]
    completed = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)  # noqa: S603
    if completed.returncode == 2:
        give_up(completed.stderr)
    assert completed.returncode == 0, completed.stderr
    assert "Nothing is published" in completed.stderr
    sums = dict(line.split()[::-1] for line in (tmp_path / "dist/SHA256SUMS").read_text(encoding="utf-8").splitlines())
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "dist").iterdir()}
    del files["SHA256SUMS"]
    assert files == sums
    page = tmp_path / "dist" / "innodb-advisor.1"
    assert page.read_bytes() == (REPOSITORY / "docs/man/innodb-advisor.1").read_bytes()
    assert {
        f"innodb_advisor-{__version__}-py3-none-any.whl",
        f"innodb_advisor-{__version__}.tar.gz",
        f"innodb-advisor-{__version__}.tgz",
        f"innodb-advisor-{__version__}.cdx.json",
        "innodb-advisor.service",
        "innodb-advisor.1",
        "requirements.txt",
    } == set(sums)
