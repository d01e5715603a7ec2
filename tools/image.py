"""`make image`: the container image, built with docker, podman or buildah, whichever is there."""

from __future__ import annotations

import ast
import configparser
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from exporter import __version__
from lab.packages.cache import REPOSITORY, Unavailable
from tools import base_image, builders
from tools.builders import Builder, Failed

TAG = f"innodb-advisor:{__version__}"
DEBOOTSTRAP = "debootstrap"
_REACHING = ("index-url", "extra-index-url", "trusted-host", "proxy", "cert", "timeout", "default-timeout", "retries")
"""Settings of pip that say how an index is reached; the rest is this machine's own affair."""
_CERT_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # where pip has no setting, in this order
_CERT = "/run/secrets/ca.pem"


def build(builder: Builder, base: str | None, tag: str = TAG, *, shown: bool = False) -> None:
    """Build the image of this working tree.

    Args:
        builder: What builds it, and has it afterwards.
        base: The image to build on; None for the Dockerfile's own.
        tag: What it is called.
        shown: Whether the builder's progress goes to the standard error.

    Raises:
        Failed: It could not be built.
    """
    arguments = ["--file", REPOSITORY / "Dockerfile", "--tag", tag, "--build-arg", f"VERSION={__version__}"]
    if builder.name != "docker":
        # What did not change is not built again, and what fails leaves nothing mounted: docker's defaults.
        arguments += ["--layers", "--force-rm"]
    if base is not None:
        arguments += ["--build-arg", f"BASE={base}"]
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-build-") as folder:
        for name, text in secrets(pip_settings(), os.environ).items():
            path = Path(folder) / name
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
            arguments += ["--secret", f"id={name},src={path}"]
        builder.run("build", *arguments, REPOSITORY, shown=shown)


def pip_settings() -> Mapping[str, str]:
    """What this machine's pip is told by its files and variables: setting (`index-url`) to value."""
    said = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=False, capture_output=True, text=True
    ).stdout
    found: dict[str, str] = {}
    for line in sorted(said.splitlines(), key=lambda line: line.startswith(":env:")):  # variables win
        if setting := re.fullmatch(r"(?:global|install|:env:)\.([\w-]+)=(['\"].*)", line):
            found[setting[1]] = str(ast.literal_eval(setting[2]))
    return {name: value for name, value in found.items() if name in _REACHING}


def secrets(pip: Mapping[str, str], environment: Mapping[str, str]) -> Mapping[str, str]:
    """The files that only the build may see: how the package index is reached from here, and whom to trust there.

    Args:
        pip: What `pip_settings` returned.
        environment: Of this process.

    Returns:
        Name (`pip.conf`, `ca.pem`) to text; nothing where pip needs to be told nothing.
    """
    settings = dict(pip)
    certs = [settings.get("cert"), *(environment.get(name) for name in _CERT_VARIABLES)]
    cert = next((Path(path) for path in certs if path and Path(path).is_file()), None)
    settings.pop("cert", None)
    if cert:
        settings["cert"] = _CERT
    if not settings:
        return {}
    parser = configparser.RawConfigParser()
    parser["global"] = settings
    text = io.StringIO()
    parser.write(text)
    return {"pip.conf": text.getvalue(), **({"ca.pem": cert.read_text(encoding="utf-8")} if cert else {})}


def archive(builder: Builder, tag: str, path: Path) -> None:
    """Write the image to a file that `docker load`, `podman load` and `kind load image-archive` read."""
    if builder.name == "buildah":
        builder.run("push", "--quiet", tag, f"docker-archive:{path}:{tag}")
    else:
        builder.run("save", "--output", path, tag)


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
        except Failed as error:
            hint = "" if base else f"; where no registry of images can be reached: --base {DEBOOTSTRAP}"
            raise Failed(f"{error}{hint}") from None
        if path:
            path.unlink(missing_ok=True)  # buildah adds to one that is there
            archive(builder, tag, path)
    except (Unavailable, Failed) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{tag} is built" + (f", and in {path}" if path else ""), err=True)


if __name__ == "__main__":
    main()
