"""The chart's output in docs/sidecars and the golden manifests of the tests: `python -m tools.chart` writes both."""

from __future__ import annotations

import io
import shutil
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

from lab.packages.cache import REPOSITORY
from tools import generated, helm
from tools.snippets import SNIPPETS, Snippet

CHART = REPOSITORY / "charts" / "innodb-advisor"
SIDECARS = REPOSITORY / "docs" / "sidecars"
GOLDEN = REPOSITORY / "tests" / "charts" / "golden"
OLDEST, OLDEST_NATIVE, NEWEST = "1.25.0", "1.29.0", "1.37.0"
"""Kubernetes versions: Chart.yaml's minimum, the minimum for native sidecars, and the newest with available schemas."""
_WIDTH = 110
_SECRET = "innodb-advisor"  # noqa: S105 - its name
_POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: parent
spec:
  {KIND}:
    - {{- include "innodb-advisor.sidecar" (index .Subcharts "innodb-advisor") | nindent 6 }}
  volumes:
    {{- include "innodb-advisor.volumes" (index .Subcharts "innodb-advisor") | trim | nindent 4 }}
"""


class SidecarManifests(NamedTuple):
    """The chart's output in a chart that depends on it.

    Attributes:
        container: From the template innodb-advisor.sidecar.
        volumes: From the template innodb-advisor.volumes.
        others: The chart's own manifests.
    """

    container: Mapping[str, Any]
    volumes: Sequence[Mapping[str, Any]]
    others: Sequence[Mapping[str, Any]]


def template(
    values: Mapping[str, Any], *more: str, release: str = "shop", namespace: str = "db", kubernetes: str = NEWEST
) -> str:
    """The manifests of a release, as sent to a cluster."""
    where = ("--namespace", namespace, "--kube-version", kubernetes)
    return helm.run("template", release, str(CHART), *where, *more, values=values)


def of_parent(values: Mapping[str, Any], template: str, *, kubernetes: str = NEWEST) -> list[Any]:
    """The manifests of a parent chart with this chart as a dependency and one template.

    Args:
        values: The dependency's values.
        template: The parent's template. The dependency's templates need `index .Subcharts "innodb-advisor"`.
        kubernetes: The Kubernetes version.
    """
    with tempfile.TemporaryDirectory(prefix="parent-") as name:
        parent = Path(name)
        shutil.copytree(CHART, parent / "charts" / CHART.name)
        (parent / "templates").mkdir()
        (parent / "templates" / "own.yaml").write_text(template, encoding="utf-8")
        (parent / "Chart.yaml").write_text("apiVersion: v2\nname: parent\nversion: 0.0.0\n", encoding="utf-8")
        written = helm.run("template", "shop", name, "--kube-version", kubernetes, values={CHART.name: values})
    return [manifest for manifest in YAML(typ="safe", pure=True).load_all(written) if manifest]


def sidecar(values: Mapping[str, Any], *, native: bool = False, kubernetes: str = NEWEST) -> SidecarManifests:
    """The sidecar in a chart that depends on this one."""
    kind = "initContainers" if native else "containers"
    own = {
        **values,
        "deployment": {"enabled": False},
        "sidecar": {**values.get("sidecar", {}), "native": native},
    }
    written = of_parent(own, _POD.replace("{KIND}", kind), kubernetes=kubernetes)
    [pod] = [manifest for manifest in written if manifest["kind"] == "Pod"]
    others = [manifest for manifest in written if manifest is not pod]
    return SidecarManifests(pod["spec"][kind][0], pod["spec"]["volumes"], others)


def documents() -> dict[Path, str]:
    """The generated files, with their expected content."""
    snippets = {SIDECARS / f"{snippet.name}.yaml": _text(snippet) for snippet in SNIPPETS}
    return snippets | {
        path.with_name(f"{path.name.partition('.')[0]}.yaml"): _golden(path) for path in GOLDEN.glob("*.values.yaml")
    }


def write() -> None:
    """Bring all files up to date."""
    generated.write(documents(), SIDECARS)


def _golden(path: Path) -> str:
    values = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    if "sidecar" not in values:
        return template(values)
    own = sidecar(values, native=True)
    pod = {"initContainers": [own.container], "volumes": own.volumes}
    return "---\n".join(_yaml(manifest) for manifest in (pod, *own.others))


def _text(snippet: Snippet) -> str:
    monitor = {"enabled": True, "selector": {"matchLabels": snippet.labels}}
    values = {"existingSecret": _SECRET, "podMonitor": monitor}
    own = sidecar(values, native=snippet.native)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _SECRET},
        "stringData": {"password": "change-me"},
    }
    selecting = next(dict(manifest) for manifest in own.others if manifest["kind"] == "PodMonitor")
    selecting["metadata"] = {"name": _SECRET}
    parts = [
        f"{_comment(snippet.head)}\n---\n# The account's password, in the namespace of the pods.\n{_yaml(secret)}",
        f"{_comment(snippet.where)}\n{_yaml(snippet.place(own.container, own.volumes))}",
        f"# For the Prometheus operator; give it the labels that your Prometheus selects.\n{_yaml(selecting)}",
    ]
    return "---\n".join(parts)


def _comment(text: str) -> str:
    """The text as comments: paragraphs are wrapped, indented ones stay unchanged."""
    parts = (
        paragraph if paragraph.startswith(" ") else textwrap.fill(paragraph, _WIDTH)
        for paragraph in text.strip("\n").split("\n\n")
    )
    return "\n".join(f"# {line}".rstrip() for line in "\n\n".join(parts).splitlines())


def _yaml(document: Mapping[str, Any]) -> str:
    yaml = YAML(pure=True)
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = 120
    out = io.StringIO()
    yaml.dump(dict(document), out)
    return out.getvalue()


if __name__ == "__main__":
    write()
