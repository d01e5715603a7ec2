"""Builders of container images on this machine: docker, podman or buildah.

If none is installed and the machine is a Debian, root gets podman and buildah, unpacked into the cache. They keep their
images there, and only temporary files outside, in /run.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.packages import cache, debian
from lab.packages.cache import UnavailableHere
from tools.command import BuildFailed, run

SUITE = "bookworm"
NAMES = ("docker", "podman", "buildah")
PACKAGES = ("buildah", "podman", "runc", "patchelf", "debootstrap", "debian-archive-keyring")
_BUILDKIT = {"DOCKER_BUILDKIT": "1"}  # docker's older way of building knows no secrets
_ANSWER_SECONDS = 30


@dataclass(frozen=True)
class Builder:
    """A builder that works here.

    Attributes:
        name: One of `NAMES`.
        program: Its path.
        environment: Variables that it needs besides this process's own.
    """

    name: str
    program: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: object, visible: bool = False, seconds: float | None = None) -> str:
        """Its output, as of `command.run`. Raises BuildFailed."""
        what = f"{self.name} {arguments[0]}"
        command = (self.program, *arguments)
        return run(*command, what=what, environment=self.environment, seconds=seconds, visible=visible)

    def has(self, image: str) -> bool:
        """Whether it has an image of this name."""
        try:
            self.run("inspect", "--type", "image", image)
        except BuildFailed:
            return False
        return True


def available(names: Iterable[str] = NAMES) -> Builder:
    """The first of these that is installed and answers, or else a private one."""
    names = tuple(names)
    refusals = []
    for name in names:
        program = shutil.which(name)
        if program is None:
            refusals.append(f"{name} is not installed")
        elif refusal := _refusal(builder := Builder(name, program, _BUILDKIT if name == "docker" else {})):
            refusals.append(f"{name} does not work: {refusal}")
        else:
            return builder
    if obtainable := [name for name in ("buildah", "podman") if name in names]:
        try:
            return private(obtainable[0])
        except UnavailableHere as error:
            refusals.append(str(error))
    raise UnavailableHere(f"{'; '.join(refusals)}; to install one of them: sudo apt-get install buildah")


def _refusal(builder: Builder) -> str:
    """The reason why it cannot be used; empty if it can."""
    try:
        builder.run("info", seconds=_ANSWER_SECONDS)
    except BuildFailed as error:
        return str(error).splitlines()[-1]
    return ""


def private(name: str) -> Builder:
    """Debian's podman or buildah, unpacked into the cache; both see the same images."""
    if os.geteuid() != 0:
        raise UnavailableHere("only root can use a builder that is not installed")
    root = tools()
    programs = _programs(root)
    builder = Builder(name, str(programs / name), _configured(root, programs))
    if refusal := _refusal(builder):
        raise UnavailableHere(f"Debian's {name} does not work here: {refusal}")
    return builder


def tools() -> Path:
    """The tree of Debian packages that holds the private builders, their runtime and debootstrap."""
    return debian.unpacked(SUITE, *PACKAGES)


def _programs(root: Path) -> Path:
    """Programs that restart themselves through /proc/self/exe, patched to use the tree's loader and libraries."""
    loader, _, libraries, _ = patchelf = debian.command(root, "usr/bin/patchelf")

    def make(folder: Path) -> None:
        for path in ("usr/bin/buildah", "usr/bin/podman", "usr/bin/conmon", "usr/sbin/runc"):
            program = shutil.copy(root / path, folder)
            how = ("--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries)
            run(*patchelf, *how, program, what="patchelf")

    return cache.entry(f"images/programs-{_digest(root)}", make)


def _digest(path: Path) -> str:
    return hashlib.sha256(str(path).encode()).hexdigest()[:12]


def _home() -> Path:
    return cache.folder() / "images"


def _run() -> Path:
    """The folder of temporary files; short enough for the paths of sockets."""
    return Path("/run") / f"innodb-advisor-{_digest(_home())}"


def tidy() -> None:
    """Remove all containers of the private builders, running ones too, and their files in /run."""
    private("podman").run("rm", "--all", "--force", "--time=0")
    private("buildah").run("rm", "--all")
    shutil.rmtree(_run(), ignore_errors=True)


def _configured(root: Path, programs: Path) -> Mapping[str, str]:
    """Variables that keep its programs from reading or writing the machine's own files."""
    home, run = _home(), _run()
    etc = home / "etc"
    environment = {
        "HOME": str(etc),
        "BUILDAH_ISOLATION": "chroot",  # needs no cgroups and no namespaces but one for mounts
        "CONTAINERS_CONF": str(etc / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(etc / "storage.conf"),
        "CONTAINERS_REGISTRIES_CONF": str(root / "etc/containers/registries.conf"),
    }
    names = root / "etc/containers/registries.conf.d/shortnames.conf"
    files = {
        ".config/containers/policy.json": '{"default": [{"type": "insecureAcceptAnything"}]}\n',
        ".config/containers/registries.conf.d/shortnames.conf": names.read_text(encoding="utf-8"),
        "containers.conf": _containers(root, programs, home, run),
    }
    with cache.lock(home / ".lock"):
        for name, text in files.items():
            _write(etc / name, text)
        if not (etc / "storage.conf").is_file():
            _write(etc / "storage.conf", _storage(programs, environment, etc, home, run))
    return environment


def _write(path: Path, text: str) -> None:
    """Write the file unless it has this content: another process may be reading it."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _containers(root: Path, programs: Path, home: Path, run: Path) -> str:
    limits = ", ".join(
        f'"{name}={limit[0]}:{limit[1]}"'
        for name, limit in (("nofile", _limit(resource.RLIMIT_NOFILE)), ("nproc", _limit(resource.RLIMIT_NPROC)))
    )
    return f"""
[containers]
seccomp_profile = "{root}/usr/share/containers/seccomp.json"
apparmor_profile = ""
default_ulimits = [{limits}]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
runtime = "runc"
conmon_path = ["{programs}/conmon"]
helper_binaries_dir = ["{root}/usr/lib/podman"]
static_dir = "{home}/podman"
volume_path = "{home}/volumes"
tmp_dir = "{run}/podman"
[engine.runtimes]
runc = ["{programs}/runc"]
"""


def _limit(number: int) -> tuple[int, int]:
    """A limit that this process may set: podman's defaults exceed what some sandboxes allow."""
    _, hard = resource.getrlimit(number)
    most = 4096  # more than a build or the sidecar needs
    return (min(hard, most), min(hard, most)) if hard >= 0 else (most, most)


def _storage(programs: Path, environment: Mapping[str, str], etc: Path, home: Path, run: Path) -> str:
    """Overlay layers if the kernel and the cache's file system support them, else whole copies."""
    text = '[storage]\ndriver = "{}"\ngraphroot = "{}"\nrunroot = "{}"\n'
    probe = etc / "probe.conf"
    overlay = text.format("overlay", home / "overlay", run / "overlay")
    _write(probe, overlay)
    trial = Builder("buildah", str(programs / "buildah"), {**environment, "CONTAINERS_STORAGE_CONF": str(probe)})
    works = not _refusal(trial)
    probe.unlink()
    return overlay if works else text.format("vfs", home / "vfs", run / "vfs")
