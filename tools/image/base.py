"""A base image built on this machine with debootstrap, for use without an image registry.

Mirror and keyring come from the machine's own apt configuration; neither stays in the image.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lab.packages import cache, debian
from lab.packages.cache import Unavailable
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
_SECONDS = 900


def imported(builder: Builder, suite: str = SUITE) -> str:
    """Import the base image into a builder; return its name.

    Args:
        builder: The builder.
        suite: A Debian suite with Python ≥ 3.11.

    Raises:
        Unavailable: The image cannot be built here; the text says why.
        BuildFailed: The builder rejects it.
    """
    made = rootfs(suite)
    digest = made.with_name("sha256").read_text(encoding="utf-8")
    registry = "" if builder.name == "docker" else "localhost/"  # the others' prefix for images without a registry
    image = f"{registry}innodb-advisor-base:{suite}-{digest[:12]}"
    if builder.has(image):
        return image
    if builder.name == "buildah":
        container = builder.run("from", "scratch").stdout.strip()
        builder.run("add", "--quiet", container, made, "/")
        builder.run("commit", "--quiet", "--rm", container, image)
    else:
        builder.run("import", made, image)
    return image


def rootfs(suite: str) -> Path:
    """Its file system as a tar archive, with a file `sha256` in the same folder.

    Raises:
        Unavailable: It cannot be built here.
    """
    return cache.kept(f"images/base-{suite}-{'+'.join(PACKAGES)}", lambda folder: _make(suite, folder)) / "rootfs.tar"


def _make(suite: str, folder: Path) -> None:
    if os.geteuid() != 0:
        raise Unavailable("debootstrap needs root")
    if missing := [tool for tool in ("perl", "tar", "wget") if not shutil.which(tool)]:
        raise Unavailable(f"debootstrap needs {' and '.join(missing)}")
    tools = builders.tools()
    fields = dict(line.split(": ", 1) for line in debian.source(suite).splitlines() if ": " in line)
    signed = fields.get("Signed-By", "").strip()
    # debootstrap cannot read an inline key of apt's configuration.
    keyring = signed if signed.startswith("/") else str(tools / "usr/share/keyrings/debian-archive-keyring.gpg")
    with tempfile.TemporaryDirectory(prefix=".root.", dir=folder) as root:
        Path(root).chmod(0o755)  # becomes the image's /
        script = ["sh", str(tools / "usr/sbin/debootstrap"), "--variant=minbase", f"--keyring={keyring}"]
        _run(
            [*script, f"--include={','.join(PACKAGES)}", suite, root, fields["URIs"]],
            {"DEBOOTSTRAP_DIR": str(tools / "usr/share/debootstrap")},
        )
        left_out = [f"--exclude=./{pattern}" for pattern in _LEFT_OUT]
        tar = ["tar", "--create", "--file", str(folder / "rootfs.tar"), "--numeric-owner", *left_out]
        _run([*tar, "--directory", root, "."], {})
    with (folder / "rootfs.tar").open("rb") as file:
        (folder / "sha256").write_text(hashlib.file_digest(file, "sha256").hexdigest(), encoding="utf-8")


def _run(command: list[str], environment: dict[str, str]) -> None:
    try:
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            env={**os.environ, **environment},
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"the base image took longer than {_SECONDS} s") from None
    except subprocess.CalledProcessError as error:
        last = [line for line in error.output.splitlines() if line.startswith(("E:", "W:", "tar:"))] or ["no word why"]
        raise Unavailable(f"the base image could not be built: {last[-1]}") from None
