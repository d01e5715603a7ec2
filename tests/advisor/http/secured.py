"""The sidecar behind a web configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import bcrypt
import httpx
from ruamel.yaml import YAML

from tests.advisor.building import RECORDING, capture
from tests.advisor.sidecar import Sidecar


def hashed(password: str, cost: int = 4) -> str:
    """The hash that htpasswd -B writes."""
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost)).decode().replace("$2b$", "$2y$")


def write(path: Path, content: dict[str, Any]) -> Path:
    with path.open("w") as file:
        YAML().dump(content, file)
    return path


class Secured(Sidecar):
    """A sidecar that replays RECORDING with the web configuration of ``folder``."""

    def __init__(self, folder: Path, content: dict[str, Any], *arguments: object) -> None:
        self.config = write(folder / "web.yml", content)
        super().__init__(
            folder, "--recording", capture(RECORDING), "--web-config", self.config, "--verbose", *arguments
        )

    def _serving(self) -> object:
        return re.search(r"serving on (https?://127\.0\.0\.1:\d+)/", self.log()) or self.process.poll() is not None

    def change(self, content: dict[str, Any]) -> None:
        write(self.config, content)

    def status(self, path: str = "/healthz", **options: Any) -> int:
        with httpx.Client(timeout=30, **options) as client:
            return client.get(self.url + path).status_code
