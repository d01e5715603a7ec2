"""Alertmanager from Debian's packages of two releases, unpacked into the cache.

Debian's build reads its templates from /usr/share, where nothing is installed. So a copy of the program runs in which
that path is relative, with the root of the unpacked package as its working folder. Nothing else is changed.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lab.packages import cache, debian
from lab.packages.cache import Unavailable
from lab.processes.service import LISTENING, Service, run_service, version_of

SUITES = ("bookworm", "sid")
"""0.25, and Debian's newest."""
PACKAGE, PROGRAM, AMTOOL = "prometheus-alertmanager", "usr/bin/prometheus-alertmanager", "usr/bin/amtool"
HOST = "127.0.0.1"
_SHARE = b"/usr/share/prometheus/alertmanager"
_CHECK_SECONDS = 60


def configuration(webhook: str, **route: object) -> str:
    """One route to one webhook, which receives each alert at once and by itself; as YAML.

    Args:
        webhook: Its URL.
        route: Further keys of the route, such as ``group_by`` or ``repeat_interval``. They win over the defaults.
    """
    at_once = {"group_by": ["..."], "group_wait": "0s", "group_interval": "1s", "repeat_interval": "1h"}
    receiver = {"name": "webhook", "webhook_configs": [{"url": webhook, "send_resolved": True}]}
    return json.dumps({"route": {"receiver": "webhook", **at_once, **route}, "receivers": [receiver]})


@contextlib.contextmanager
def running(suite: str, folder: Path, configured: str, *more: str, port: int = 0) -> Iterator[Service]:
    """Start an Alertmanager on the loopback address, and stop it at the end.

    Args:
        suite: One of SUITES.
        folder: For its configuration, its data, which a later run finds again, and ``alertmanager.log``.
        configured: Its configuration file's content, YAML or JSON.
        more: Further flags.
        port: Its port; 0 for any free one.

    Raises:
        Unavailable: Alertmanager is unavailable here; the text says why.
        NotServing: It did not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file, log = folder / "alertmanager.yml", folder / "alertmanager.log"
    file.write_text(configured, encoding="utf-8")
    log.unlink(missing_ok=True)  # of an earlier run
    own = (
        f"--config.file={file}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address={HOST}:{port}",
        "--cluster.listen-address=",
    )
    with run_service("Alertmanager", [*command(suite), *own, *more], {}, log, LISTENING) as started:
        yield started


def command(suite: str) -> list[str]:
    """The command line, to be followed by flags. Paths in the flags must be absolute.

    Raises:
        Unavailable: Alertmanager is unavailable here; the text says why.
    """
    root = debian.unpacked(suite, PACKAGE)
    program = root / PROGRAM
    if not program.is_file():
        raise Unavailable(f"{PROGRAM} is not in {root.name}")

    def relative(folder: Path) -> None:
        copy = folder / program.name
        copy.write_bytes(program.read_bytes().replace(_SHARE, _SHARE[1:] + b"/"))
        copy.chmod(0o755)

    made = cache.kept(f"alertmanager/{suite}-{program.stat().st_mtime_ns}", relative) / program.name
    loader = debian.command(root, PROGRAM)[:-1]
    return ["/usr/bin/env", f"--chdir={root}", *loader, str(made)]


def version(suite: str) -> str:
    """Its version, such as `0.25.0`.

    Raises:
        Unavailable: Alertmanager is unavailable here.
    """
    return version_of(command(suite))


def check_config(suite: str, file: Path) -> str:
    """The errors that ``amtool check-config`` finds in a configuration file; empty for none.

    Raises:
        Unavailable: amtool is unavailable here.
    """
    done = subprocess.run(
        [*debian.command(debian.unpacked(suite, PACKAGE), AMTOOL), "check-config", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_CHECK_SECONDS,
        check=False,
    )
    return (done.stdout or f"amtool ended with status {done.returncode}") if done.returncode else ""
