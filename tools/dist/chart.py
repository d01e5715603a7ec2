"""The chart: packed, and the packed one checked."""

from __future__ import annotations

from pathlib import Path

from exporter import __version__
from lab.packages.cache import REPOSITORY
from tools import helm
from tools.command import BuildFailed

CHART = REPOSITORY / "charts" / "innodb-advisor"
_KUBERNETES = "1.25.0"  # the oldest that the chart takes
_VALUES = {"dsn": "mysql://innodb_advisor@db:3306", "password": "of-a-check", "image": {"repository": "innodb-advisor"}}


def build(into: Path) -> Path:
    """The packed chart, which lints and makes manifests with the image of its own version."""
    helm.run("package", str(CHART), "--destination", str(into))
    packed = into / f"innodb-advisor-{__version__}.tgz"
    where = (str(packed), "--kube-version", _KUBERNETES)
    helm.run("lint", "--strict", *where, values=_VALUES)
    manifests = helm.run("template", "innodb-advisor", *where, values=_VALUES)
    if f"image: innodb-advisor:{__version__}" not in manifests.replace('"', ""):
        raise BuildFailed(f"the packed chart does not start the image of {__version__}")
    return packed
