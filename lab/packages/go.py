"""Programs built from Go modules into the cache. Modules and objects go: they take a gigabyte."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
import time
import types
from collections.abc import Callable, Mapping
from pathlib import Path

from lab.packages import cache, client
from lab.packages.cache import UnavailableHere

BUILD_SECONDS = 3600
"""Time limit of a build: the control plane has 2,400 packages."""


def installed(name: str, version: str, package: str) -> Path:
    """The folder of a published program; the first call builds it in minutes.

    Args:
        name: Its name in the cache and in errors.
        version: Of its module, such as `v3.22.0`.
        package: Its package, whose last part names the program.

    Raises:
        UnavailableHere: There is no Go, or the modules are unavailable.
    """
    return _program(name, version, ["install", "-v", f"{package}@{version}"], None)


def built(name: str, module: Path, variables: Mapping[str, str] = types.MappingProxyType({})) -> Path:
    """The folder of a program `name` of this repository, built from the module in a folder.

    Args:
        name: The program.
        module: The folder.
        variables: Values that the linker sets, by package and name.

    Raises:
        UnavailableHere: There is no Go, or the modules that it needs are unavailable.
    """
    linked = " ".join(["-s", *(f"-X {variable}={value}" for variable, value in variables.items())])
    content = b"".join(path.read_bytes() for path in sorted(module.iterdir())) + linked.encode()
    command = ["build", "-v", "-mod=readonly", "-ldflags", linked, "-o"]
    return _program(name, hashlib.sha256(content).hexdigest()[:12], command, module)


def files(module: str, version: str, folder: str) -> Path:
    """A copy of a folder of a published module; empty for all of it.

    Raises:
        UnavailableHere: There is no Go, or the module is unavailable.
    """

    def take(into: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="module-", dir=into) as work:
            environment = {"GOMODCACHE": work, "GOFLAGS": "-modcacherw", "GOWORK": "off"}
            command = [_go(module), "mod", "download", f"{module}@{version}"]
            client.run(module, command, folder=into, seconds=BUILD_SECONDS, environment=environment)
            shutil.copytree(Path(work) / f"{module}@{version}" / folder, into / folder, dirs_exist_ok=True)

    return cache.entry(f"modules/{module}@{version}", take) / folder


def _go(name: str) -> str:
    go = shutil.which("go")
    if go is None:
        raise UnavailableHere(f"{name} is built with Go, which this machine lacks")
    return go


def _program(name: str, version: str, command: list[str], module: Path | None) -> Path:
    def build(folder: Path) -> None:
        go = _go(name)
        with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=folder) as work:
            private = {
                "GOBIN": str(folder),
                "GOMODCACHE": f"{work}/modules",
                "GOCACHE": f"{work}/objects",
                "GOTMPDIR": work,
            }
            flags = {
                "GOFLAGS": "-trimpath -buildvcs=false -modcacherw -ldflags=-s",
                "CGO_ENABLED": "0",
                "GOWORK": "off",
            }
            client.run(
                f"{name} {version}",
                [go, *command] if module is None else [go, *command, str(folder / name), "."],
                folder=module or Path(work),
                seconds=BUILD_SECONDS,
                environment=private | flags,
                progress=_progress(name),
            )

    return cache.entry(f"{name}/{version}", build)


def _progress(name: str) -> Callable[[str], None]:
    """Prints how far `go -v` is, which names each package that it compiles."""
    began = time.monotonic()

    def show(output: str) -> None:
        packages = sum(not line.startswith("go: ") for line in output.splitlines())
        seconds = time.monotonic() - began
        print(f"{name}: {packages} packages compiled, {seconds:.0f} s", file=sys.stderr, flush=True)

    return show
