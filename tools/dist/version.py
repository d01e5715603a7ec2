"""The version of a release: the same in the package, the chart, the changelog and the tag."""

from __future__ import annotations

import re

from ruamel.yaml import YAML

from exporter import __version__
from lab.packages.cache import REPOSITORY

CHART = REPOSITORY / "charts" / "innodb-advisor" / "Chart.yaml"
CHANGELOG = REPOSITORY / "CHANGELOG.md"
_HEADING = re.compile(r"^## (\S+) \((unreleased|\d{4}-\d{2}-\d{2})\)$", re.MULTILINE)


def disagreements(tag: str | None, chart: str, changelog: str, version: str = __version__) -> list[str]:
    """Disagreements with the package's version, one line each.

    Args:
        tag: The tag that is to be released, such as ``v1.2.3``; None where there is none yet.
        chart: The text of Chart.yaml.
        changelog: The text of CHANGELOG.md.
        version: The package's version.
    """
    lines = []
    fields = YAML(typ="safe").load(chart)
    for name in ("version", "appVersion"):
        if str(fields[name]) != version:
            lines.append(f"the chart's {name} is {fields[name]}, and exporter/__init__.py says {version}")
    heading = _HEADING.search(changelog)
    newest, day = (heading[1], heading[2]) if heading else ("nothing", "")
    if newest != version:
        lines.append(f"CHANGELOG.md begins with {newest}, and exporter/__init__.py says {version}")
    if tag is None:
        return lines
    if tag != f"v{version}":
        lines.append(f"the tag is {tag}, and exporter/__init__.py says {version}: the tag must be v{version}")
    if day == "unreleased":
        lines.append(f"CHANGELOG.md calls {newest} unreleased: write the day of the release into its heading")
    return lines


def here(tag: str | None) -> list[str]:
    """The same of this working tree."""
    return disagreements(tag, CHART.read_text(encoding="utf-8"), CHANGELOG.read_text(encoding="utf-8"))
