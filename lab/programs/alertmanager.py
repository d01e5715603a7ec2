"""Alertmanager from Debian's packages of two releases, unpacked into the cache.

Debian's build reads its templates from /usr/share, where nothing is installed. So a copy of the program runs in which
that path is relative, with the root of the unpacked package as its working folder. Nothing else is changed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from lab.packages import cache, debian
from lab.packages.cache import UnavailableHere
from lab.processes.ports import HOST
from lab.processes.program import LISTENING, ChildProcess

SUITES = ("bookworm", "sid")
"""0.25, and Debian's newest."""
PACKAGE, PROGRAM, AMTOOL = "prometheus-alertmanager", "usr/bin/prometheus-alertmanager", "usr/bin/amtool"
_SHARE = b"/usr/share/prometheus/alertmanager"


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
def running(suite: str, folder: Path, configured: str, *more: str, port: int = 0) -> Iterator[ChildProcess]:
    """Start an Alertmanager on the loopback address, and stop it at the end.

    Args:
        suite: One of SUITES.
        folder: For its configuration, its data, which a later run finds again, and ``alertmanager.log``.
        configured: Its configuration file's content, YAML or JSON.
        more: Further flags.
        port: Its port; 0 for any free one.
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
    with ChildProcess("Alertmanager", [*command(suite), *own, *more], log=log, listening=LISTENING) as program:
        yield program


def command(suite: str) -> list[str]:
    """The command line, to be followed by flags. Paths in the flags must be absolute."""
    root = debian.unpacked(suite, PACKAGE)
    program = root / PROGRAM
    if not program.is_file():
        raise UnavailableHere(f"{PROGRAM} is not in {root.name}")

    def patch(folder: Path) -> None:
        copy = folder / program.name
        copy.write_bytes(program.read_bytes().replace(_SHARE, _SHARE[1:] + b"/"))
        copy.chmod(0o755)

    patched = cache.entry(f"alertmanager/{suite}-{program.stat().st_mtime_ns}", patch) / program.name
    loader = debian.command(root, PROGRAM)[:-1]
    return ["/usr/bin/env", f"--chdir={root}", *loader, str(patched)]
