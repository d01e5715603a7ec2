"""Packages of the npm registry, unpacked privately by the ordinary client: one version with one content."""

import base64
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

from lab import cache
from lab.cache import Unavailable

PACK_SECONDS = 300


def unpacked(package: str, version: str, integrity: str) -> Path:
    """The folder that holds the package's files; none of its scripts is run.

    Args:
        package: The package's name.
        version: Its exact version.
        integrity: Its content's digest as npm writes it: `sha512-` and the digest in base 64.

    Raises:
        Unavailable: Without npm, when the registry doesn't answer, or when the content is another one.
    """

    def make(root: Path) -> None:
        _fetch(f"{package}@{version}", integrity, root)

    return cache.kept(f"npm/{package}-{version}", make) / "package"


def _fetch(wanted: str, integrity: str, root: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(f"{wanted} needs npm, which this machine lacks")
    try:
        subprocess.run(
            [npm, "pack", "--silent", "--ignore-scripts", wanted],
            cwd=root,
            check=True,
            capture_output=True,
            text=True,
            timeout=PACK_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{wanted}: npm took longer than {PACK_SECONDS} s") from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip() or error.stdout.strip()).splitlines()
        raise Unavailable(f"{wanted}: npm: {said[-1] if said else error.returncode}") from None
    archive = next(root.glob("*.tgz"))
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if integrity != f"sha512-{digest}":
        raise Unavailable(f"{wanted}: its content is not the one expected: sha512-{digest}")
    with tarfile.open(archive) as members:
        # Python 3.11.0 to 3.11.3 have no filters; the content is the expected one in any case.
        members.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        members.extractall(root)  # noqa: S202 - its digest has just been checked
    archive.unlink()
