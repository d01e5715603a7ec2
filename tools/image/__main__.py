"""`make image`: the container image, built with docker, podman or buildah, whichever is there."""

from __future__ import annotations

from pathlib import Path

import click

from lab.packages.cache import Unavailable
from tools.image import base as base_image
from tools.image import builders
from tools.image.build import TAG, archive, build
from tools.image.builders import BuildFailed

DEBOOTSTRAP = "debootstrap"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--builder", "name", type=click.Choice(builders.NAMES), help="Only this one; the first that works else.")
@click.option(
    "--base",
    metavar="IMAGE",
    help="Build on this image instead of the Dockerfile's: a Debian with Python 3.11 or later and venv. "
    f"`{DEBOOTSTRAP}` makes one here (Debian {base_image.SUITE}; {DEBOOTSTRAP}:SUITE for another), "
    "where no registry of images can be reached. Needs root.",
)
@click.option("--tag", default=TAG, show_default=True, metavar="NAME:TAG", help="What the image is called.")
@click.option(
    "--archive",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write it to this file, for docker load, podman load or kind load image-archive.",
)
def main(*, name: str | None, base: str | None, tag: str, path: Path | None) -> None:
    """Build the container image with docker, podman or buildah, whichever is there and works.

    Where none is, and this is a Debian, root gets Debian's buildah without installing it; its images are kept in
    .cache, so that --archive is how to get one out.
    """
    try:
        builder = builders.found([name] if name else builders.NAMES)
        click.echo(f"building {tag} with {builder.program}", err=True)
        kind, _, suite = (base or "").partition(":")
        if kind == DEBOOTSTRAP:
            click.echo("making a base image with debootstrap, once …", err=True)
            base = base_image.imported(builder, suite or base_image.SUITE)
        try:
            build(builder, base, tag, shown=True)
        except BuildFailed as error:
            hint = "" if base else f"; where no registry of images can be reached: --base {DEBOOTSTRAP}"
            raise BuildFailed(f"{error}{hint}") from None
        if path:
            path.unlink(missing_ok=True)  # buildah adds to one that is there
            archive(builder, tag, path)
    except (Unavailable, BuildFailed) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{tag} is built" + (f", and in {path}" if path else ""), err=True)


if __name__ == "__main__":
    main()
