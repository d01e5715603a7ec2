"""The chart names the version that the code has."""

from pathlib import Path

from ruamel.yaml import YAML

from exporter import __version__


def test_the_chart_takes_the_image_of_this_version() -> None:
    chart = YAML(typ="safe", pure=True).load(Path("charts/innodb-advisor/Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == __version__
