"""The examples and links of docs/kubernetes.md are valid."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ruamel.yaml import YAML

from lab.packages.cache import REPOSITORY
from tests.charts.manifests import DSN, problems, rendered
from tests.charts.pages import anchors
from tests.unavailable import if_available
from tools import chart, docs

PAGE = REPOSITORY / "docs" / "kubernetes.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n# values\.yaml\n(.*?)```", TEXT, re.DOTALL)


def load(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@pytest.mark.system
@pytest.mark.parametrize("example", [pytest.param(example, id=example.partition(":")[0]) for example in EXAMPLES])
def test_the_chart_accepts_every_example(example: str) -> None:
    manifests = rendered({"dsn": DSN, **load(example)})
    assert [problem for manifest in manifests if (problem := problems(manifest, chart.NEWEST))] == []


@pytest.mark.system
def test_the_example_parent_chart_gives_the_shown_manifests() -> None:
    [values] = re.findall(r"```yaml\n# values\.yaml of your chart\n(.*?)```", TEXT, re.DOTALL)
    [pod] = re.findall(r"```yaml\n# the pod template[^\n]*\n(.*?)```", TEXT, re.DOTALL)
    spec = "".join(
        f"  {line}\n" for line in re.sub(r"nindent (\d)", lambda n: f"nindent {int(n[1]) + 2}", pod).splitlines()
    )
    manifests = if_available(chart.of_parent, load(values)["innodb-advisor"], f"kind: Pod\nspec:\n{spec}")
    [pod_manifest] = [manifest for manifest in manifests if manifest["kind"] == "Pod"]
    assert pod_manifest["spec"]["initContainers"][0]["restartPolicy"] == "Always"
    assert pod_manifest["spec"]["volumes"]
    assert {manifest["kind"] for manifest in manifests} == {"Pod", "PodMonitor"}


def test_links_resolve_to_a_file_and_heading() -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", TEXT):
        page = (PAGE.parent / target) if target else PAGE
        assert page.exists(), target
        assert not anchor or anchor in anchors(page.read_text(encoding="utf-8")), f"{target}#{anchor}"
    assert docs.links(TEXT)


def test_the_account_is_the_readmes() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    for statement in re.findall(r"^(?:CREATE USER|GRANT) .*;$", readme, re.MULTILINE)[:4]:
        assert statement.replace("127.0.0.1", "%") in TEXT


def test_every_snippet_is_linked() -> None:
    linked = set(re.findall(r"\(sidecars/([\w-]+\.yaml)\)", TEXT))
    assert linked == {path.name for path in chart.SIDECARS.iterdir()}


def test_the_versions_are_the_tested_ones() -> None:
    oldest, native, newest = (
        version.removesuffix(".0") for version in (chart.OLDEST, chart.OLDEST_NATIVE, chart.NEWEST)
    )
    assert f"Kubernetes {oldest} or later, {native} for native sidecars" in TEXT
    assert f"of {oldest} and {newest}" in TEXT.replace("\n", " ")
