"""`make image`: builds the container image with docker, podman or buildah."""

from __future__ import annotations

from pathlib import Path

import click

from lab.packages.cache import UnavailableHere
from tools.command import BuildFailed
from tools.image import base as base_image
from tools.image import builders
from tools.image.build import TAG, archive, build

DEBOOTSTRAP = "debootstrap"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--builder", "name", type=click.Choice(builders.NAMES), help="Use this builder. Default: the first that works."
)
@click.option(
    "--base",
    metavar="IMAGE",
    help="Build on this image instead of the Dockerfile's: a Debian with Python 3.11 or later and venv. "
    f"Without access to an image registry, `{DEBOOTSTRAP}` builds one here (Debian {base_image.SUITE}; "
    f"{DEBOOTSTRAP}:SUITE for another). Needs root.",
)
@click.option("--tag", default=TAG, show_default=True, metavar="NAME:TAG", help="The image's name.")
@click.option(
    "--archive",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write it to this file, for docker load, podman load or kind load image-archive.",
)
def main(*, name: str | None, base: str | None, tag: str, path: Path | None) -> None:
    """Build the container image with docker, podman or buildah, the first that works.

    If none is installed and this is a Debian, root gets Debian's buildah without an installation. It keeps its images
    in .cache; use --archive to get the image out.
    """
    try:
        builder = builders.available([name] if name else builders.NAMES)
        click.echo(f"building {tag} with {builder.program}", err=True)
        kind, _, suite = (base or "").partition(":")
        if kind == DEBOOTSTRAP:
            click.echo("building a base image with debootstrap, once …", err=True)
            base = base_image.imported(builder, suite or base_image.SUITE)
        try:
            build(builder, base, tag, visible=True)
        except BuildFailed as error:
            hint = "" if base else f"; without access to an image registry: --base {DEBOOTSTRAP}"
            raise BuildFailed(f"{error}{hint}") from None
        if path:
            path.unlink(missing_ok=True)  # buildah adds to one that is there
            archive(builder, tag, path)
    except (UnavailableHere, BuildFailed) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{tag} is built" + (f", and in {path}" if path else ""), err=True)


if __name__ == "__main__":
    main()
