"""The image's build, its secrets, and its archive."""

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

from exporter import __version__
from lab.packages.cache import REPOSITORY
from tools.image.builders import Builder

TAG = f"innodb-advisor:{__version__}"
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
        BuildFailed: It could not be built.
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
