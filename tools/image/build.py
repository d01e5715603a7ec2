"""The image's build, its secrets, and its archive."""

from __future__ import annotations

import ast
import configparser
import io
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from exporter import __version__
from lab.packages.cache import REPOSITORY
from tools.command import run
from tools.image.builders import Builder

TAG = f"innodb-advisor:{__version__}"
_REACHING = ("index-url", "extra-index-url", "trusted-host", "proxy", "cert", "timeout", "default-timeout", "retries")
"""Settings of pip that affect how it reaches an index; others are not passed on."""
_CERT_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # used if pip has no setting, in this order
_CERT = "/run/secrets/ca.pem"


def build(
    builder: Builder,
    base: str | None,
    tag: str = TAG,
    *,
    architecture: str | None = None,
    visible: bool = False,
    pip: Mapping[str, str] | None = None,
) -> None:
    """Build the image of this working tree.

    Args:
        builder: The builder, which has the image afterwards.
        base: The base image; None for the Dockerfile's own.
        tag: The image's name.
        architecture: The image's, such as ``arm64``; None for this machine's.
        visible: Whether the builder's progress goes to the standard error.
        pip: Settings of pip in addition to this machine's.
    """
    arguments = ["--file", REPOSITORY / "Dockerfile", "--tag", tag, "--build-arg", f"VERSION={__version__}"]
    if builder.name != "docker":
        # Cached layers, and no mounts after a failure: docker's defaults.
        arguments += ["--layers", "--force-rm"]
    if architecture is not None:
        arguments += ["--platform", f"linux/{architecture}"]
    if base is not None:
        arguments += ["--build-arg", f"BASE={base}"]
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-build-") as folder:
        for name, text in secrets({**pip_settings(), **(pip or {})}, os.environ).items():
            path = Path(folder) / name
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
            arguments += ["--secret", f"id={name},src={path}"]
        builder.run("build", *arguments, REPOSITORY, visible=visible)


def pip_settings() -> Mapping[str, str]:
    """This machine's pip settings from files and variables: name (`index-url`) to value."""
    listing = run(sys.executable, "-m", "pip", "config", "list", what="pip's settings")
    settings: dict[str, str] = {}
    for line in sorted(listing.splitlines(), key=lambda line: line.startswith(":env:")):  # variables win
        if setting := re.fullmatch(r"(?:global|install|:env:)\.([\w-]+)=(['\"].*)", line):
            settings[setting[1]] = str(ast.literal_eval(setting[2]))
    return {name: value for name, value in settings.items() if name in _REACHING}


def secrets(pip: Mapping[str, str], environment: Mapping[str, str]) -> Mapping[str, str]:
    """The secret files of the build: the way to the package index, and the certificates to trust.

    Args:
        pip: From `pip_settings`.
        environment: The variables of this process.

    Returns:
        Text by name (`pip.conf`, `ca.pem`); empty if pip needs no settings.
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
    """Write the image to a file for `docker load`, `podman load` and `kind load image-archive`."""
    if builder.name == "buildah":
        builder.run("push", "--quiet", tag, f"docker-archive:{path}:{tag}")
    else:
        builder.run("save", "--output", path, tag)
