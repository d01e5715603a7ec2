"""The image, built once with buildah on a locally built base, and its containers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.packages import cache
from tests.image.containers import Container
from tests.unavailable import if_available
from tools import prepare
from tools.image import builders
from tools.image.builders import Builder

Containers = Callable[..., Container]


@dataclass(frozen=True)
class Built:
    """The image under test and its base, in the storage of both buildah and podman."""

    buildah: Builder
    podman: Builder
    tag: str
    base: str

    def inspected(self, name: str) -> dict[str, Any]:
        images: list[dict[str, Any]] = json.loads(self.podman.run("image", "inspect", name))
        return images[0]


@pytest.fixture(scope="session")
def built() -> Iterator[Built]:
    with cache.lock(cache.folder() / "images" / ".tests.lock"):  # one session at a time, so that cleaning up is safe
        if_available(builders.tidy)
        buildah, podman, base = if_available(prepare.image)
        yield Built(buildah, podman, prepare.IMAGE, base)
        builders.tidy()


@pytest.fixture(scope="session")
def trees(built: Built) -> Iterator[tuple[Path, Path]]:
    """The file systems of the image and of its base."""
    names = (built.tag, built.base)
    first, second = (Path(built.podman.run("image", "mount", name).strip()) for name in names)
    yield first, second
    built.podman.run("image", "unmount", *names)


@pytest.fixture
def containers(built: Built, tmp_path: Path) -> Iterator[Containers]:
    """Start containers: `containers(*arguments, options=[…])`."""
    with ExitStack() as stack:
        started: list[Container] = []

        def start(*arguments: str, options: list[str] | None = None) -> Container:
            folder = tmp_path / f"container-{len(started)}"
            folder.mkdir()
            container = Container(built.podman, folder, built.tag, options or ["--network=host"], list(arguments))
            stack.callback(container.remove)
            started.append(container)
            return container

        yield start
