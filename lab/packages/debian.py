"""Debian packages of any suite, unpacked with their dependencies into the cache and started from there.

Nothing is installed. Mirror and keyring come from the machine's own apt configuration, so the machine must be a
Debian. apt checks the signatures. A moving suite (sid) is fetched once and cached: remove its folder from the cache to
get a newer one.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lab.packages import cache, client
from lab.packages.cache import UnavailableHere

APT = Path("/etc/apt")
NOT_A_BASE_SUITE = re.compile(r"-(updates|security|backports|proposed)\b|/")
FETCH_SECONDS = 600


def unpacked(suite: str, package: str, *more: str) -> Path:
    """The root of a tree that holds the packages and their dependencies.

    Args:
        suite: A suite's name, such as `bookworm`.
        package: A package of its `main` component.
        more: Further packages for the same tree.

    Raises:
        UnavailableHere: There is no apt, no such suite or package, or the mirror does not answer.
    """
    arch = architecture()
    names = "+".join((package, *more))

    def make(root: Path) -> None:
        _fetch(suite, arch, (package, *more), root)

    return cache.entry(f"debian/{suite}-{arch}/{names}", make)


def program(suite: str, package: str, path: str) -> list[str]:
    """The command line that starts a package's program, such as `usr/bin/promtool`. Raises UnavailableHere."""
    return command(unpacked(suite, package), path)


def command(root: Path, program: str) -> list[str]:
    """The command line that starts a program of a tree with the tree's loader and libraries.

    It does not work for a program that restarts itself through /proc/self/exe (chromium): that starts the loader. Such
    a program needs `LD_LIBRARY_PATH` at `libraries(root)` and a machine of the same suite.

    Args:
        root: What `unpacked` returned.
        program: The program's path in the tree, such as `usr/sbin/mysqld`.

    Raises:
        UnavailableHere: The tree holds no such program, or no loader.
    """
    if not (root / program).is_file():
        raise UnavailableHere(f"{program} is not in {root.name}")
    # The names ld-linux-*.so.* may be symbolic links to the loader's place in an installed system.
    loaders = (
        loader
        for pattern in ("ld-linux*.so.*", "ld-[0-9]*.so")
        for folder in _library_folders(root)
        for loader in sorted(folder.glob(pattern))
        if loader.is_file() and root in loader.resolve().parents
    )
    loader = next(loaders, None)
    if loader is None:
        raise UnavailableHere(f"no loader is in {root.name}")
    return [str(loader), "--library-path", libraries(root), str(root / program)]


def libraries(root: Path) -> str:
    """The folders of a tree's libraries, separated by colons."""
    folders = _library_folders(root)
    # Some packages keep private libraries in a folder below these, and refer to it by its absolute path.
    below = {library.parent for folder in folders for library in sorted(folder.glob("*/lib*.so*"))}
    return ":".join(map(str, (*folders, *sorted(below))))


def _library_folders(root: Path) -> list[Path]:
    return [folder for parent in ("lib", "usr/lib") for folder in sorted((root / parent).glob("*-linux-gnu*"))]


def source(suite: str, apt: Path = APT) -> str:
    """A deb822 stanza for the suite: the machine's first Debian source with the suite replaced.

    Args:
        suite: The suite to read.
        apt: The folder of apt's configuration.

    Raises:
        UnavailableHere: The machine has no source for packages.
    """
    for stanza in _stanzas(apt):
        uris, signed = stanza.get("uris", "").split(), stanza.get("signed-by", "")
        base = any(not NOT_A_BASE_SUITE.search(name) for name in stanza.get("suites", "").split())
        if base and uris and "deb" in stanza.get("types", "").split() and stanza.get("enabled") != "no":
            lines = ["Types: deb", f"URIs: {uris[0]}", f"Suites: {suite}", "Components: main"]
            if signed:
                lines.append(f"Signed-By: {signed}")
            return "\n".join(lines) + "\n"
    raise UnavailableHere("apt's configuration names no source of Debian packages")


def _stanzas(apt: Path) -> Iterator[dict[str, str]]:
    for path in sorted((apt / "sources.list.d").glob("*.sources")):
        text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
        for stanza in re.split(r"\n\s*\n", text):
            # A field continues on lines that begin with white space (an inline key, for example).
            fields = re.findall(r"^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)", stanza, re.MULTILINE)
            if fields:
                yield {name.lower(): value.rstrip() for name, value in fields}
    for path in (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.list"))):
        for line in path.read_text().splitlines() if path.is_file() else ():
            if entry := re.match(r"deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)", line):
                options, uri, name = entry.groups()
                signed = re.search(r"signed-by=(\S+)", options or "")
                yield {"types": "deb", "uris": uri, "suites": name, "signed-by": signed[1] if signed else ""}


def architecture() -> str:
    """Debian's name of this machine's architecture, such as ``amd64``.

    Raises:
        UnavailableHere: This is no Debian.
    """
    return subprocess.check_output([_tool("dpkg"), "--print-architecture"], text=True).strip()


def _fetch(suite: str, architecture: str, packages: tuple[str, ...], root: Path) -> None:
    """Download the packages and their dependencies, and unpack them into `root`."""
    private = cache.folder() / "debian" / f"{suite}-{architecture}" / ".apt"
    with cache.lock(private / "lock"):
        configuration = _configure(private, source(suite))
        archives = private / "cache" / "archives"
        apt = [_tool("apt-get"), "-q", "-c", str(configuration)]
        install = [*apt, "install", "--yes", "--download-only", "--no-install-recommends", *packages]
        client.run(f"the package lists of {suite}", [*apt, "update"], seconds=FETCH_SECONDS)
        client.run(f"{' '.join(packages)} of {suite}", install, seconds=FETCH_SECONDS)
        for archive in sorted(archives.glob("*.deb")):
            unpack = [_tool("dpkg-deb"), "-x", str(archive), str(root)]
            client.run(f"the content of {archive.name}", unpack, seconds=FETCH_SECONDS)
        shutil.rmtree(archives)


def _tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise UnavailableHere(f"Debian packages need {name}, which this machine lacks")
    return path


def _configure(private: Path, stanza: str) -> Path:
    """Write a configuration under which apt-get touches nothing outside `private`."""
    state, downloads, etc = private / "state", private / "cache", private / "etc"
    shutil.rmtree(downloads, ignore_errors=True)
    for path in (state / "lists" / "partial", downloads / "archives" / "partial", etc):
        path.mkdir(parents=True, exist_ok=True)
    (state / "status").write_text("")  # an empty list of installed packages: all dependencies are fetched
    (etc / "suite.sources").write_text(stanza)
    settings = {
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": downloads,
        "Dir::Cache::archives": downloads / "archives",
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": etc,
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Default-Release": "",
        "APT::Sandbox::User": "root",  # apt's own user may not write below the cache
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::Languages": "none",
        "APT::Update::Error-Mode": "any",  # a list that cannot be fetched is an error, not a warning
        "Acquire::Retries": "2",
    }
    # The machine's own hooks after an update (clean-up, desktop notification) must not run here.
    hooks = ("APT::Update::Post-Invoke", "APT::Update::Post-Invoke-Success", "DPkg::Post-Invoke")
    lines = [
        *(f"#clear {hook};" for hook in hooks),
        *(f'{key} "{value}";' for key, value in settings.items()),
    ]
    path = private / "apt.conf"
    path.write_text("\n".join(lines) + "\n")
    return path
