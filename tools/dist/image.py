"""The image of each platform, as an archive with its SBOM."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exporter import __version__
from tools.command import BuildFailed
from tools.dist import package, sbom
from tools.image import base as base_image
from tools.image import builders
from tools.image.build import archive, build
from tools.image.builders import Builder

ARCHITECTURES = ("amd64", "arm64")
_VERSION = "org.opencontainers.image.version"


def made(architecture: str, base: str | None, python: Path, into: Path) -> list[Path]:
    """The archive of the image for a platform, and its SBOM.

    Args:
        architecture: One of `ARCHITECTURES`.
        base: The base image; None for the Dockerfile's own, ``debootstrap`` for one that is built here.
        python: The SBOM of the Python environment that it must have.
        into: The folder of both.
    """
    base_image.require_emulation(architecture)
    buildah = builders.available(["buildah"])
    tag = f"innodb-advisor:{__version__}-{architecture}"
    file = into / f"innodb-advisor-{__version__}-image-{architecture}.tar"
    start = base_image.imported(buildah, architecture=architecture) if base == "debootstrap" else base
    build(buildah, start, tag, architecture=architecture)
    with _container(buildah, tag) as container:
        _check(buildah, tag, container, architecture)
        root = Path(buildah.run("mount", container).strip())
        if differs := package.packages(root / "opt" / "innodb-advisor") ^ sbom.components(python):
            raise BuildFailed(f"the image has other Python packages than were tested: {sorted(differs)}")
        contents = sbom.of_image(root, python, architecture, into)
    archive(buildah, tag, file)
    return [file, contents]


@contextmanager
def _container(buildah: Builder, tag: str) -> Iterator[str]:
    container = buildah.run("from", "--pull=never", tag).strip()
    try:
        yield container
    finally:
        buildah.run("rm", container)


def _check(buildah: Builder, tag: str, container: str, architecture: str) -> None:
    """Raise BuildFailed unless the image is of this version and architecture, and its program works as its own user."""
    image = json.loads(buildah.run("inspect", "--type", "image", tag))["OCIv1"]
    config = image["config"]
    if image["architecture"] != architecture:
        raise BuildFailed(f"the image for {architecture} says that it is for {image['architecture']}")
    if (version := config["Labels"].get(_VERSION)) != __version__:
        raise BuildFailed(f"the image's label {_VERSION} is {version}, not {__version__}")
    package.works(lambda *arguments: buildah.run("run", container, "--", *config["Entrypoint"], *arguments))
