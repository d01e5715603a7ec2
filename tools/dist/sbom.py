"""The contents of a release in CycloneDX: of the Python environment, and of the image with its Debian."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

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
    """The Python packages of an environment."""
    path = into / f"innodb-advisor-{__version__}.cdx.json"
    command = ["cyclonedx_py", "environment", "--sv", SCHEMA, "--output-reproducible", "-o", path]
    tool(*command, environment / "bin" / "python", what="the package's SBOM", environment={"SOURCE_DATE_EPOCH": epoch()})
    document = json.loads(path.read_text(encoding="utf-8"))
    # The package itself is the document's subject.
    [ours] = [component for component in document["components"] if component["name"] == "innodb-advisor"]
    document["components"].remove(ours)
    document["metadata"]["component"] = {**ours, "type": "application"}
    # The wheel was installed from a folder of this machine.
    document["metadata"]["component"].pop("externalReferences", None)
    return _written(document, path)


def of_image(root: Path, python: Path, architecture: str, into: Path) -> Path:
    """The Debian packages of an image, and its Python packages.

    Args:
        root: Its file system.
        python: The SBOM of the environment that it has.
        architecture: Debian's name of it, such as ``arm64``.
        into: The folder of the result.
    """
    path = into / f"innodb-advisor-{__version__}-image-{architecture}.cdx.json"
    debian = path.with_name(f".{architecture}.debian.cdx.json")
    about = ["-t", "cdx", "--cdx-schema-version", SCHEMA, "--distro-name", "innodb-advisor"]
    about += ["--distro-version", __version__, "--distro-arch", architecture]
    about += ["--timestamp", datetime.fromtimestamp(int(epoch()), UTC).isoformat()]
    about += ["--cdx-serialnumber", str(uuid.uuid5(_NAMESPACE, architecture))]
    try:
        tool("debsbom.cli", "generate", *about, "--root", root, "-o", debian, what="the SBOM of the image's Debian")
        document = json.loads(debian.read_text(encoding="utf-8"))
    finally:
        debian.unlink(missing_ok=True)
    ours = json.loads(python.read_text(encoding="utf-8"))
    document["components"] += [ours["metadata"]["component"], *ours["components"]]
    document["dependencies"] += ours["dependencies"]
    return _written(document, path)


def components(path: Path) -> set[tuple[str, str]]:
    """Name and version of each component, and of the package itself."""
    document = json.loads(path.read_text(encoding="utf-8"))
    every = (document["metadata"]["component"], *document["components"])
    return {(component["name"], component["version"]) for component in every}


def _written(document: Mapping[str, Any], path: Path) -> Path:
    """Write an SBOM, and check it by its schema."""
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    checked_by(_CHECK, path, f"the SBOM {path.name} by its schema")
    return path
