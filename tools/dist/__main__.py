"""`make dist`: builds and checks everything of a release, and publishes nothing."""

from __future__ import annotations

import hashlib
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from exporter import __version__
from lab.packages.cache import REPOSITORY, UnavailableHere
from tools import man
from tools.command import BuildFailed
from tools.dist import chart, image, package, sbom, version
from tools.dist.commands import git

_SUMS = "SHA256SUMS"
_ASIDE = (REPOSITORY / "requirements/runtime.txt", "requirements.txt"), (
    REPOSITORY / "systemd/innodb-advisor.service",
    "innodb-advisor.service",
)
_LEFT = """
Nothing is published. What is left for a person:
  1. CHANGELOG.md: the day of the release in place of "unreleased"; commit.
  2. git tag -s v{version} && git push origin v{version}
  3. In the repository's page, Actions, "release": approve the environment "release". The workflow builds all of this
     again from the tag, compares the versions with the tag, and publishes it.
Settings it needs once: the environment "release" with reviewers, the variable REGISTRY (and OCI_NAMESPACE where it is
not the repository's owner), and the project's trusted publisher on the package index."""


@click.command(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Examples:
  python -m tools.dist --without-image            a minute; needs Go once, for helm
  python -m tools.dist --base debootstrap         no image registry; needs root and a Debian
  python -m tools.dist --check --tag v1.2.3       whether a tag agrees with package, chart and changelog

\b
Exit codes:
  0    built and checked
  1    something is not as a release must be; the message says what
  2    this machine cannot build it: the message says what is missing, and which option leaves it out
""",
)
@click.option("--into", type=click.Path(file_okay=False, path_type=Path), default=REPOSITORY / "dist", help="The folder. What is in it goes. Default: dist.")
@click.option("--tag", metavar="vVERSION", help="The tag that is released: package, chart and changelog must agree with it.")
@click.option("--check", "check_only", is_flag=True, help="Only compare the versions; build nothing.")
@click.option("--without-image", is_flag=True, help="No image.")
@click.option("--without-chart", is_flag=True, help="No chart: it needs helm, which Go builds once in three minutes.")
@click.option(
    "--architecture",
    "architectures",
    type=click.Choice(image.ARCHITECTURES),
    multiple=True,
    help="Only the image of this architecture; may be repeated. Default: both. One that is not this machine's needs "
    "an emulation (qemu-user-static).",
)
@click.option("--base", metavar="IMAGE", help="The image's base, as for make image; `debootstrap` builds one here.")
def main(
    *,
    into: Path,
    tag: str | None,
    check_only: bool,
    without_image: bool,
    without_chart: bool,
    architectures: tuple[str, ...],
    base: str | None,
) -> None:
    """Build and check a release in dist/: wheel, source, chart, images, SBOMs, checksums.

    Wheel and source are built twice and must be equal. The wheel is installed with the pinned dependencies into a new
    environment, and has to work there. The packed chart is linted and rendered. An image has to have the Python
    packages that were tested. Nothing is published: the end says what is left for a person.
    """
    try:
        with _step("versions"):
            if wrong := version.here(tag):
                raise BuildFailed("; ".join(wrong))
        if check_only:
            return
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        contents = _package(into)
        if not without_chart:
            with _step("chart: packed, linted, rendered"):
                chart.build(into)
        for architecture in () if without_image else architectures or image.ARCHITECTURES:
            with _step(f"image for {architecture}, and its SBOM"):
                image.made(architecture, base, contents, into)
        _aside(into)
    except BuildFailed as error:
        raise click.ClickException(str(error)) from None
    except UnavailableHere as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    click.echo((into / _SUMS).read_text(encoding="utf-8"), nl=False)
    if git("status", "--porcelain"):
        click.echo("\nNot of a commit: there are changes that are not committed.", err=True)
    click.echo(_LEFT.format(version=__version__), err=True)


def _package(into: Path) -> Path:
    with _step("wheel and source, built twice and equal"):
        wheel, _ = package.build(into)
    with ExitStack() as stack:
        with _step("wheel in a new environment, by pinned dependencies"):
            environment = stack.enter_context(package.installed(wheel))
            package.check(environment)
        with _step("SBOM of that environment"):
            contents = sbom.of_environment(environment, into)
            if differs := sbom.components(contents) ^ package.packages(environment):
                raise BuildFailed(f"the SBOM has other packages than the environment: {sorted(differs)}")
            return contents


def _aside(into: Path) -> None:
    """The files that go along, and the checksums of all."""
    for path, name in _ASIDE:
        shutil.copyfile(path, into / name)
    (into / f"{man.NAME}.1").write_text(man.page(), encoding="utf-8")
    lines = []
    for path in sorted(into.iterdir()):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    (into / _SUMS).write_text("".join(lines), encoding="utf-8")


@contextmanager
def _step(what: str) -> Iterator[None]:
    click.echo(f"{what} …", err=True)
    began = time.monotonic()
    yield
    click.echo(f"{what}: ok, {time.monotonic() - began:.0f} s", err=True)


if __name__ == "__main__":
    main()
