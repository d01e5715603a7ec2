"""What a release contains, in CycloneDX: of the Python environment, and of the image with its Debian."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from pathlib import Path

from exporter import __version__
from tools.dist.commands import checked_by, tool
from tools.dist.package import epoch

SCHEMA = "1.6"
_CHECK = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
sys.exit(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1], encoding="utf-8").read()))
"""
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, f"innodb-advisor-{__version__}.invalid")


def of_environment(environment: Path, into: Path) -> Path:
    """The Python packages of an environment.

    Raises:
        DistFailed: It cannot be read, or the result is no CycloneDX.
        Unavailable: The tools cannot be had.
    """
    made = into / f"innodb-advisor-{__version__}.cdx.json"
    command = ["cyclonedx_py", "environment", "--sv", SCHEMA, "--output-reproducible", "-o", made]
    tool(*command, environment / "bin" / "python", what="the package's SBOM", environment={"SOURCE_DATE_EPOCH": epoch()})
    found = json.loads(made.read_text(encoding="utf-8"))
    # The package itself is what the document is about.
    [ours] = [each for each in found["components"] if each["name"] == "innodb-advisor"]
    found["components"].remove(ours)
    found["metadata"]["component"] = {**ours, "type": "application"}
    # Where the wheel was installed from is a folder of this machine.
    found["metadata"]["component"].pop("externalReferences", None)
    made.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return _checked(made)


def of_image(root: Path, python: Path, architecture: str, into: Path) -> Path:
    """The Debian packages of an image, and its Python packages.

    Args:
        root: Its file system.
        python: The SBOM of the environment that it has.
        architecture: Debian's name of it, such as ``arm64``.
        into: The folder of the result.

    Raises:
        DistFailed: It cannot be read, or the result is no CycloneDX.
        Unavailable: The tools cannot be had.
    """
    made = into / f"innodb-advisor-{__version__}-image-{architecture}.cdx.json"
    debian = made.with_name(f".{architecture}.debian.cdx.json")
    about = ["-t", "cdx", "--cdx-schema-version", SCHEMA, "--distro-name", "innodb-advisor"]
    about += ["--distro-version", __version__, "--distro-arch", architecture]
    about += ["--timestamp", datetime.fromtimestamp(int(epoch()), UTC).isoformat()]
    about += ["--cdx-serialnumber", str(uuid.uuid5(_NAMESPACE, architecture))]
    try:
        tool("debsbom.cli", "generate", *about, "--root", root, "-o", debian, what="the SBOM of the image's Debian")
        found = json.loads(debian.read_text(encoding="utf-8"))
    finally:
        debian.unlink(missing_ok=True)
    ours = json.loads(python.read_text(encoding="utf-8"))
    found["components"] += [ours["metadata"]["component"], *ours["components"]]
    found["dependencies"] += ours["dependencies"]
    made.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return _checked(made)


def components(path: Path) -> set[tuple[str, str]]:
    """Name and version of each component, and of the package itself."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return {(each["name"], each["version"]) for each in (found["metadata"]["component"], *found["components"])}


def _checked(path: Path) -> Path:
    checked_by(_CHECK, path, f"the SBOM {path.name} by its schema")
    return path
