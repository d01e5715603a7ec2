"""`make image`: its builders, and the settings of this machine that the build receives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from lab.packages.cache import REPOSITORY
from tests.image.conftest import Built
from tests.waiting import DEADLINE
from tools.image import build as image

pytestmark = pytest.mark.xdist_group("image")

INDEX = "https://somebody:secret@index.invalid/simple"


def test_without_a_builder_it_names_what_to_install(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tools.image", "--builder", "docker"],
        cwd=REPOSITORY,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr == "Error: docker is not installed; to install one of them: sudo apt-get install buildah\n"


def test_the_index_comes_from_pips_own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", INDEX)
    monkeypatch.setenv("PIP_NO_COLOR", "1")
    settings = image.pip_settings()
    assert settings["index-url"] == INDEX
    assert "no-color" not in settings


def test_only_the_build_sees_the_index_and_the_certificates(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_text("a certificate\n")
    secrets = image.secrets({"index-url": INDEX, "cert": str(bundle)}, {})
    assert secrets["ca.pem"] == "a certificate\n"
    assert secrets["pip.conf"] == f"[global]\nindex-url = {INDEX}\ncert = /run/secrets/ca.pem\n\n"


def test_certificates_named_only_by_a_variable_are_found_too(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_text("a certificate\n")
    secrets = image.secrets({}, {"REQUESTS_CA_BUNDLE": str(bundle)})
    assert secrets == {"pip.conf": "[global]\ncert = /run/secrets/ca.pem\n\n", "ca.pem": "a certificate\n"}


def test_without_pip_settings_the_build_receives_none() -> None:
    assert image.secrets({}, {"REQUESTS_CA_BUNDLE": "/nowhere"}) == {}


def test_an_image_can_be_saved_as_a_file(built: Built, tmp_path: Path) -> None:
    buildah = built.buildah
    container = buildah.run("from", "scratch").strip()
    buildah.run("commit", "--quiet", "--rm", container, "innodb-advisor:empty")
    try:
        image.archive(buildah, "innodb-advisor:empty", tmp_path / "image.tar")
    finally:
        buildah.run("rmi", "innodb-advisor:empty")
    with tarfile.open(tmp_path / "image.tar") as archive:
        member = archive.extractfile("manifest.json")
        assert member
        tags = json.load(member)[0]["RepoTags"]
    assert {tag.rpartition("/")[2] for tag in tags} == {"innodb-advisor:empty"}
