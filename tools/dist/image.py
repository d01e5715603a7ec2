"""The image of each platform, as an archive with its SBOM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exporter import __version__
from tools.dist import package, sbom
from tools.dist.commands import DistFailed
from tools.image import base as base_image
from tools.image import builders
from tools.image.build import archive, build
from tools.image.builders import Builder, BuildFailed

ARCHITECTURES = ("amd64", "arm64")


def made(architecture: str, base: str | None, python: Path, into: Path) -> list[Path]:
    """The archive of the image for a platform, and its SBOM.

    Args:
        architecture: One of `ARCHITECTURES`.
        base: The base image; None for the Dockerfile's own, ``debootstrap`` for one that is built here.
        python: The SBOM of the Python environment that it must have.
        into: The folder of both.

    Raises:
        DistFailed: It cannot be built, or has other packages.
        Unavailable: This machine cannot build it; the text says what is missing.
    """
    base_image.require_emulation(architecture)
    builder = builders.found(["buildah", "podman"])
    tag = f"innodb-advisor:{__version__}-{architecture}"
    file = into / f"innodb-advisor-{__version__}-image-{architecture}.tar"
    file.unlink(missing_ok=True)
    try:
        start = base_image.imported(builder, architecture=architecture) if base == "debootstrap" else base
        build(builder, start, tag, architecture=architecture)
        with _mounted(builder, tag) as root:
            if differs := package.packages(root / "opt" / "innodb-advisor") ^ sbom.components(python):
                raise DistFailed(f"the image has other Python packages than were tested: {sorted(differs)}")
            contents = sbom.of_image(root, python, architecture, into)
        archive(builder, tag, file)
    except BuildFailed as error:
        raise DistFailed(f"the image for {architecture}: {error}") from None
    return [file, contents]


@contextmanager
def _mounted(builder: Builder, tag: str) -> Iterator[Path]:
    """The file system of an image."""
    buildah = builder if builder.name == "buildah" else None
    if buildah is None:
        yield Path(builder.run("image", "mount", tag).stdout.strip())
        builder.run("image", "unmount", tag)
        return
    container = buildah.run("from", "--pull=never", tag).stdout.strip()
    try:
        yield Path(buildah.run("mount", container).stdout.strip())
    finally:
        buildah.run("rm", container)
