"""What builds container images on this machine: docker, podman or buildah.

Where none is installed and the machine is a Debian with root, podman and buildah are unpacked privately; they keep
their images in the cache folder and nothing outside it, but for what must be gone after a reboot, which is in /run.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.packages import cache, debian
from lab.packages.cache import Unavailable

SUITE = "bookworm"
NAMES = ("docker", "podman", "buildah")
PACKAGES = ("buildah", "podman", "runc", "patchelf", "debootstrap", "debian-archive-keyring")
_BUILDKIT = {"DOCKER_BUILDKIT": "1"}  # docker's older way of building knows no secrets
_ANSWER_SECONDS = 30
_SAID_AT_MOST = 3000  # characters


class BuildFailed(Exception):
    """A builder failed; the text ends with what it said, where that was not shown."""


@dataclass(frozen=True)
class Builder:
    """One that works here.

    Attributes:
        name: One of `NAMES`.
        program: Its path.
        environment: Variables it needs besides this process's own.
    """

    name: str
    program: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(
        self, *arguments: object, check: bool = True, shown: bool = False, timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run it with these arguments.

        Args:
            arguments: What follows its name on the command line.
            check: Whether an exit status other than 0 is an error.
            shown: Whether what it says goes to the standard error at once, instead of into the result.
            timeout: Seconds.

        Raises:
            BuildFailed: It did.
            subprocess.TimeoutExpired: It took longer.
        """
        done = subprocess.run(
            [self.program, *map(str, arguments)],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr if shown else subprocess.PIPE,
            stderr=None if shown else subprocess.PIPE,
            text=True,
            timeout=timeout,
            env={**os.environ, **self.environment},
        )
        if check and done.returncode:
            said = "it said why above" if shown else f"{done.stdout}{done.stderr}"[-_SAID_AT_MOST:].strip()
            raise BuildFailed(f"{self.name} {arguments[0]} failed: {said}")
        return done

    def has(self, image: str) -> bool:
        """Whether it keeps an image of this name."""
        return self.run("inspect", "--type", "image", image, check=False).returncode == 0


def found(names: Iterable[str] = NAMES) -> Builder:
    """The first of these that is installed and answers, or else a private one.

    Raises:
        Unavailable: None of them; the text says why of each.
    """
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
        except Unavailable as error:
            refusals.append(str(error))
    raise Unavailable(f"{'; '.join(refusals)}; to install one of them: sudo apt-get install buildah")


def _refusal(builder: Builder) -> str:
    """Why it can't be used; empty when it can."""
    try:
        done = builder.run("info", check=False, timeout=_ANSWER_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no answer in {_ANSWER_SECONDS} s"
    said = [line for line in done.stderr.splitlines() if line.strip()]
    return (said[-1] if said else f"it ended with status {done.returncode}") if done.returncode else ""


def private(name: str) -> Builder:
    """Debian's podman or buildah, unpacked and not installed; both see the same images.

    Raises:
        Unavailable: It needs a Debian, and root.
    """
    if os.geteuid() != 0:
        raise Unavailable("only root can use one that is not installed")
    root = tools()
    programs = _programs(root)
    builder = Builder(name, str(programs / name), _configured(root, programs))
    if refusal := _refusal(builder):
        raise Unavailable(f"Debian's {name} does not work here: {refusal}")
    return builder


def tools() -> Path:
    """The tree of Debian packages that holds the private builders, their runtime and debootstrap.

    Raises:
        Unavailable: The machine is no Debian, or its mirror does not answer.
    """
    return debian.unpacked(SUITE, *PACKAGES)


def _programs(root: Path) -> Path:
    """A folder of those that start themselves anew by /proc/self/exe: they name the tree's loader and libraries."""
    loader, _, libraries, _ = patchelf = debian.command(root, "usr/bin/patchelf")

    def make(folder: Path) -> None:
        for path in ("usr/bin/buildah", "usr/bin/podman", "usr/bin/conmon", "usr/sbin/runc"):
            program = shutil.copy(root / path, folder)
            how = ("--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries)
            subprocess.run([*patchelf, *how, program], check=True, capture_output=True)

    return cache.kept(f"images/programs-{_digest(root)}", make)


def _digest(path: Path) -> str:
    return hashlib.sha256(str(path).encode()).hexdigest()[:12]


def _home() -> Path:
    return cache.folder() / "images"


def _run() -> Path:
    """For what a reboot ends, and where sockets' paths are short enough."""
    return Path("/run") / f"innodb-advisor-{_digest(_home())}"


def tidy() -> None:
    """Remove every container that the private builders have, working ones too, and all that they keep in /run.

    Raises:
        Unavailable: See `private`.
        BuildFailed: One can't be removed.
    """
    private("podman").run("rm", "--all", "--force", "--time=0")
    private("buildah").run("rm", "--all")
    shutil.rmtree(_run(), ignore_errors=True)


def _configured(root: Path, programs: Path) -> Mapping[str, str]:
    """The variables under which its programs read and write nothing of the machine's own."""
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
    """Write it unless it is so already: another process may be reading."""
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
    """A limit that this process may set: podman's own are higher than some sandboxes allow."""
    _, hard = resource.getrlimit(number)
    most = 4096  # more than a build or the sidecar needs
    return (min(hard, most), min(hard, most)) if hard >= 0 else (most, most)


def _storage(programs: Path, environment: Mapping[str, str], etc: Path, home: Path, run: Path) -> str:
    """Layers over each other where the kernel and the cache's file system can, whole copies where not."""
    text = '[storage]\ndriver = "{}"\ngraphroot = "{}"\nrunroot = "{}"\n'
    probe = etc / "probe.conf"
    overlay = text.format("overlay", home / "overlay", run / "overlay")
    _write(probe, overlay)
    trial = Builder("buildah", str(programs / "buildah"), {**environment, "CONTAINERS_STORAGE_CONF": str(probe)})
    works = not _refusal(trial)
    probe.unlink()
    return overlay if works else text.format("vfs", home / "vfs", run / "vfs")
