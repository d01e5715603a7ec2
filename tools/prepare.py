"""`python -m tools.prepare`: what the tests download or build, fetched side by side before they begin.

So no test's time has a download or a build in it. What is in the cache already takes no time.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import click

from lab.packages import cache
from lab.packages.cache import UnavailableHere
from lab.programs import (
    actionlint,
    alertmanager,
    chromium,
    docker_compose,
    mysql_client,
    mysqld_exporter,
    prometheus,
    promtool,
    victoriametrics,
)
from lab.servers import NAMES, datadirs, programs
from tools import helm
from tools.command import BuildFailed
from tools.dist import commands
from tools.image import base, builders
from tools.image.build import build
from tools.image.builders import Builder

PROGRESS_SECONDS = 15.0
IMAGE = "innodb-advisor:test"
TRUSTED_HOST = "host-of-no-index.invalid"
"""A setting of pip that only the build of the image may see; a test looks for it in the image."""


def server(name: str) -> None:
    """A server's program, and an empty data folder for it to start with."""
    datadirs.template(programs.find(name), {})


def image() -> tuple[Builder, Builder, str]:
    """The image for tests, in the storage of a private buildah and a private podman; the third is its base's name."""
    buildah, podman = builders.private("buildah"), builders.private("podman")
    imported = base.imported(buildah)
    build(buildah, imported, IMAGE, pip={"trusted-host": TRUSTED_HOST})
    return buildah, podman, imported


def _layers() -> None:
    """The base of the image, and the layers with downloads, which its tests find in the builder's own cache."""
    made_of = [cache.REPOSITORY / name for name in ("Dockerfile", "requirements/build.txt", "requirements/runtime.txt")]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in made_of)).hexdigest()[:12]

    def build_once(_: Path) -> None:
        with cache.lock(cache.folder() / "images" / ".tests.lock"):
            image()

    cache.entry(f"images/layers-{digest}", build_once)


_SERVERS: Mapping[str, Callable[[], object]] = {name: functools.partial(server, name) for name in NAMES}
_PROGRAMS: Mapping[str, Callable[[], object]] = {
    **{f"Prometheus of {suite}": functools.partial(prometheus.command, suite) for suite in promtool.SUITES},
    "mysqld_exporter": mysqld_exporter.command,
}
_SYSTEM: Mapping[str, Callable[[], object]] = {
    "helm": helm.program,
    "image": _layers,
    "actionlint": actionlint.program,
    "Chromium": chromium.program,
    "tools of a release": commands.tools,
    **{f"Alertmanager of {suite}": functools.partial(alertmanager.command, suite) for suite in alertmanager.SUITES},
    "VictoriaMetrics": victoriametrics.command,
    "docker compose": docker_compose.command,
    "mysql client": mysql_client.command,
}
THINGS = {**_SYSTEM, **_SERVERS, **_PROGRAMS}
"""By name, what fetches it; what takes longest comes first."""
EVERYDAY = ("mysql-9.7", "mariadb-11.8")
RINGS: Mapping[str, tuple[str, ...]] = {
    "test": (*EVERYDAY, *_PROGRAMS),
    "test-servers": (*_SERVERS, *_PROGRAMS),
    "test-system": (*_SYSTEM, *EVERYDAY, *_PROGRAMS),
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("rings", nargs=-1, type=click.Choice(list(RINGS)), metavar="[test|test-servers|test-system]...")
def main(rings: tuple[str, ...]) -> None:
    """Download and build what these rings of tests need, or all rings. Exit status 2: something is unavailable here."""
    needed = {name for ring in rings or RINGS for name in RINGS[ring]}
    if not fetch({name: get for name, get in THINGS.items() if name in needed}):
        sys.exit(2)


def fetch(things: Mapping[str, Callable[[], object]]) -> bool:
    """Fetch all of these side by side, with a line for each. Whether all were available."""
    began = time.monotonic()
    with ThreadPoolExecutor(len(things)) as pool:
        names = {pool.submit(get): name for name, get in things.items()}
        reasons = [reason for reason in _ends(names, began) if reason]
    for reason in reasons:
        click.echo(reason, err=True)
    return not reasons


def _ends(names: Mapping[Future[object], str], began: float) -> list[str]:
    """Why each is unavailable; empty for what there is."""
    left, reasons = set(names), []
    while left:
        ended, left = wait(left, PROGRESS_SECONDS, FIRST_COMPLETED)
        seconds = f"{time.monotonic() - began:.1f} s"
        for future in ended:
            try:
                future.result()
            except (UnavailableHere, BuildFailed, datadirs.StartError) as error:
                reasons.append(f"{names[future]} is unavailable here: {error}")
            else:
                click.echo(f"{names[future]}: {seconds}")
        if not ended:
            click.echo(f"{', '.join(sorted(names[future] for future in left))}: not yet, after {seconds}")
    return reasons


if __name__ == "__main__":
    main()
