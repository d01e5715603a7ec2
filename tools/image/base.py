"""A base image built on this machine with debootstrap, for use without an image registry.

Mirror and keyring come from the machine's own apt configuration; neither stays in the image.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from lab.packages import cache, client, debian
from lab.packages.cache import UnavailableHere
from tools.image import builders
from tools.image.builders import Builder

SUITE = "trixie"  # what the Dockerfile's own base is made of
PACKAGES = ("ca-certificates", "python3", "python3-venv")
_LEFT_OUT = (  # copies and names of this machine, downloaded files, and files that slim images lack
    "dev/*",
    "etc/apt/sources.list",
    "etc/hostname",
    "etc/hosts",
    "etc/resolv.conf",
    "usr/share/locale/*",
    "usr/share/man/*",
    "var/cache/apt/*",
    "var/lib/apt/lists/*",
    "var/log/*",
)
_QEMU = {"amd64": "x86_64", "arm64": "aarch64"}
_SECONDS = 900
_SECONDS_EMULATED = 3600


def imported(builder: Builder, suite: str = SUITE, architecture: str | None = None) -> str:
    """Import the base image into a builder; return its name.

    Args:
        builder: The builder.
        suite: A Debian suite with Python ≥ 3.11.
        architecture: Debian's name of it; None for this machine's.
    """
    archive = rootfs(suite, architecture)
    digest = archive.with_name("sha256").read_text(encoding="utf-8")
    registry = "" if builder.name == "docker" else "localhost/"  # the others' prefix for images without a registry
    image = f"{registry}innodb-advisor-base:{suite}-{digest[:12]}"
    if builder.has(image):
        return image
    if builder.name == "buildah":
        container = builder.run("from", *_platform(architecture), "scratch").strip()
        builder.run("add", "--quiet", container, archive, "/")
        builder.run("commit", "--quiet", "--rm", container, image)
    else:
        builder.run("import", *_platform(architecture), archive, image)
    return image


def _platform(architecture: str | None) -> tuple[str, ...]:
    return () if architecture is None else ("--os=linux", f"--arch={architecture}")


def require_emulation(architecture: str, handlers: Path = Path("/proc/sys/fs/binfmt_misc")) -> None:
    """Raise UnavailableHere if programs of an architecture do not run here."""
    if architecture == debian.architecture():
        return
    handler = handlers / f"qemu-{_QEMU[architecture]}"
    if not handler.is_file() or "enabled" not in handler.read_text(encoding="utf-8"):
        raise UnavailableHere(
            f"programs of {architecture} do not run here: apt-get install qemu-user-static binfmt-support, or leave it "
            f"out with --architecture {debian.architecture()}"
        )


def rootfs(suite: str, architecture: str | None = None) -> Path:
    """Its file system as a tar archive, with a file `sha256` in the same folder."""
    other = architecture if architecture != debian.architecture() else None
    name = f"images/base-{suite}-{'+'.join(PACKAGES)}{f'-{other}' if other else ''}"
    return cache.entry(name, lambda folder: _make(suite, folder, other)) / "rootfs.tar"


def _make(suite: str, folder: Path, other: str | None) -> None:
    if os.geteuid() != 0:
        raise UnavailableHere("debootstrap needs root")
    sh, tar, *_ = (_program(name) for name in ("sh", "tar", "perl", "wget"))
    tools = builders.tools()
    fields = dict(line.split(": ", 1) for line in debian.source(suite).splitlines() if ": " in line)
    signed = fields.get("Signed-By", "").strip()
    # debootstrap cannot read an inline key of apt's configuration.
    keyring = signed if signed.startswith("/") else str(tools / "usr/share/keyrings/debian-archive-keyring.gpg")
    with tempfile.TemporaryDirectory(prefix=".root.", dir=folder) as root:
        Path(root).chmod(0o755)  # becomes the image's /
        options = ["--variant=minbase", f"--keyring={keyring}", f"--include={','.join(PACKAGES)}"]
        options += [f"--arch={other}"] if other else []
        client.run(
            "the base image",
            [sh, str(tools / "usr/sbin/debootstrap"), *options, suite, root, fields["URIs"]],
            seconds=_SECONDS_EMULATED if other else _SECONDS,
            environment={"DEBOOTSTRAP_DIR": str(tools / "usr/share/debootstrap")},
        )
        left_out = [f"--exclude=./{pattern}" for pattern in _LEFT_OUT]
        archive = [tar, "--create", "--file", str(folder / "rootfs.tar"), "--numeric-owner", *left_out]
        client.run("the base image", [*archive, "--directory", root, "."], seconds=_SECONDS)
    with (folder / "rootfs.tar").open("rb") as file:
        (folder / "sha256").write_text(hashlib.file_digest(file, "sha256").hexdigest(), encoding="utf-8")


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise UnavailableHere(f"debootstrap needs {name}")
    return path
