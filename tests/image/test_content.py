"""The image's content."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from exporter import __version__
from lab.packages import debian
from lab.packages.cache import REPOSITORY
from tests.image.conftest import Built
from tools.prepare import TRUSTED_HOST

pytestmark = pytest.mark.xdist_group("image")

MEGABYTES = 150


@pytest.fixture(scope="module")
def files(trees: tuple[Path, Path]) -> tuple[Mapping[str, os.stat_result], Mapping[str, os.stat_result]]:
    """Every file in the image and in its base: path to lstat result."""

    def of(root: Path) -> Mapping[str, os.stat_result]:
        paths = (Path(folder, name) for folder, names, more in os.walk(root) for name in (*names, *more))
        return {str(path.relative_to(root)): path.lstat() for path in paths}

    return of(trees[0]), of(trees[1])


@pytest.fixture(scope="module")
def added(files: tuple[Mapping[str, os.stat_result], Mapping[str, os.stat_result]]) -> Mapping[str, os.stat_result]:
    """The files that differ from the base."""
    image, base = files

    def alike(one: os.stat_result, other: os.stat_result | None) -> bool:
        return other is not None and all(
            getattr(one, name) == getattr(other, name) for name in ("st_mode", "st_uid", "st_size", "st_mtime_ns")
        )

    return {path: status for path, status in image.items() if not alike(status, base.get(path))}


def test_it_adds_at_most_150_mb_to_its_base(built: Built) -> None:
    size = built.inspected(built.tag)["Size"] - built.inspected(built.base)["Size"]
    assert 0 < size <= MEGABYTES * 10**6


def test_it_runs_unprivileged_and_serves_at_9747_by_default(built: Built) -> None:
    config = built.inspected(built.tag)["Config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["innodb-advisor"]
    assert config["Cmd"] == ["serve", "--listen", ":9747"]
    assert set(config["ExposedPorts"]) == {"9747/tcp"}


def test_its_labels_have_title_version_and_license(built: Built) -> None:
    labels = built.inspected(built.tag)["Config"]["Labels"]
    own = {name.removeprefix("org.opencontainers.image."): text for name, text in labels.items() if "oci" not in name}
    assert own["title"] == "innodb-advisor"
    assert own["version"] == __version__
    assert own["licenses"] == "Apache-2.0"
    assert f'description = "{own["description"]}"' in (REPOSITORY / "pyproject.toml").read_text()


def test_it_has_no_healthcheck_because_probes_check_health(built: Built) -> None:
    assert "HEALTHCHECK" not in (REPOSITORY / "Dockerfile").read_text()  # OCI images cannot have one
    assert "Healthcheck" not in built.inspected(built.tag)["Config"]


def test_it_has_no_pip_and_no_compiler(files: tuple[Mapping[str, os.stat_result], object]) -> None:
    unwanted = re.compile(
        r"(^|/)(pip[\d.]*|ensurepip|setuptools|pkg_resources|wheel|hatchling|[^/]*python-wheels)(/|$)"
        r"|/(pip|setuptools|wheel|hatchling)-[^/]*\.(dist-info|whl)"
        r"|(^|/)bin/(.*-)?(cc|gcc|g\+\+|c\+\+|clang|tcc|ld|as|make|rustc|cargo|go)(-[\d.]+)?$"
    )
    assert not [path for path in files[0] if unwanted.search(path)]


def test_it_holds_the_package_and_its_rules_and_nothing_else_of_the_repository(
    added: Mapping[str, os.stat_result],
) -> None:
    packages = {match[1] for path in added if (match := re.search(r"/site-packages/([^/]+)/[^/]+\.py$", path))}
    assert {"advisor", "exporter"} <= packages
    assert not {"lab", "tests", "requirements", "charts"} & packages
    ours = {Path(path).stem for path in added if re.search(r"/site-packages/advisor/builtin_rules/[^/]+\.yaml$", path)}
    assert ours == {path.stem for path in (REPOSITORY / "rules").glob("*.yaml")}
    for page in ("builtin_rules/proofs.md", "alerting/alerting.md"):  # shown at /rules/{id} and /runbooks/{alert}
        assert [path for path in added if path.endswith(f"/site-packages/advisor/{page}")], page
    top = {path.split("/", 1)[0] for path, status in added.items() if stat.S_ISREG(status.st_mode)}
    assert top <= {"opt", "usr", "etc", "run"}
    assert not [path for path in added if re.search(r"(^|/)(\.git|\.venv|\.cache|src|build)(/|$)", path)]


def test_it_holds_the_license(trees: tuple[Path, Path]) -> None:
    [path] = trees[0].rglob("innodb_advisor-*.dist-info/licenses/LICENSE")
    assert path.read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_every_importable_module_has_byte_code(files: tuple[Mapping[str, os.stat_result], object]) -> None:
    not_imported = re.compile(r"/(test|tests|idlelib|tkinter|turtledemo|lib2to3|dist-packages)/")
    paths = [path for path in files[0] if "/lib/python3" in path and not not_imported.search(path)]
    sources = {path for path in paths if path.endswith(".py")}
    byte_code = re.compile(r"__pycache__/([^/]+)\.cpython-\d+\.pyc$")
    compiled = {byte_code.sub(r"\1.py", path) for path in paths if byte_code.search(path)}
    assert len(sources) > 1000
    assert not sources - compiled


def test_no_file_is_setuid_or_world_writable(added: Mapping[str, os.stat_result]) -> None:
    odd = [
        path
        for path, status in added.items()
        if not stat.S_ISLNK(status.st_mode)
        and (status.st_mode & (stat.S_ISUID | stat.S_ISGID) or (status.st_mode & stat.S_IWOTH) or status.st_uid)
    ]
    assert not odd


def test_it_has_no_trace_of_the_build(
    built: Built, trees: tuple[Path, Path], added: Mapping[str, os.stat_result]
) -> None:
    assert not [path for path in added if re.search(r"(^|/)pip\.conf$|(^|/)run/secrets/|\.(crt|key)$", path)]
    assert [path for path in added if path.endswith(".pem")] == [
        path for path in added if path.endswith("site-packages/certifi/cacert.pem")
    ]
    metadata = json.dumps(built.inspected(built.tag)) + built.podman.run("history", "--no-trunc", built.tag)
    words = [TRUSTED_HOST, "/etc/pip", sys.prefix, *re.findall(r"URIs: \w+://([^/\s]+)", debian.source("stable"))]
    assert not [word for word in words if word in metadata]
    marks = [TRUSTED_HOST.encode(), str(REPOSITORY).encode() + b"/"]
    regular = [path for path, status in added.items() if stat.S_ISREG(status.st_mode)]
    assert not [path for path in regular if any(mark in (trees[0] / path).read_bytes() for mark in marks)]


def test_a_local_base_has_no_trace_of_this_machine(trees: tuple[Path, Path]) -> None:
    etc = trees[1] / "etc"
    assert not [
        path for path in (etc / "apt").rglob("*") if path.is_file() and "://" in path.read_text(errors="replace")
    ]
    assert not [name for name in ("resolv.conf", "hostname", "hosts") if (etc / name).exists()]
