"""The README's picture of the page with advice: `python -m tools.screenshot` takes it anew.

It needs chromium, such as Debian's package of that name. The page shows a recording, so that the picture does not
depend on a server. The picture is not compared by a test: browsers and fonts differ.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "img" / "page.png"
RECORDING = ROOT / "tests" / "captures" / "mysql-9.7" / "repeated-scan" / "recording.jsonl.gz"
_SIZE = (1000, 760)
_START_SECONDS = 30


def write(picture: Path = PICTURE) -> None:
    """Take the picture.

    Args:
        picture: The PNG to write.

    Raises:
        SystemExit: There is no chromium, or the page did not come up.
    """
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("chromium is missing: apt-get install chromium")
    with _serving() as url, tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                browser,
                "--headless=new",
                *(["--no-sandbox"] if os.geteuid() == 0 else []),  # chromium's sandbox refuses root
                "--disable-gpu",
                "--disable-background-networking",
                "--no-first-run",
                "--hide-scrollbars",
                "--virtual-time-budget=5000",
                f"--user-data-dir={profile}",
                f"--window-size={','.join(map(str, _SIZE))}",
                f"--screenshot={picture}",
                url,
            ],
            check=True,
            timeout=120,
        )


@contextmanager
def _serving() -> Iterator[str]:
    """The sidecar on a free port, with the recording; gives the page's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "advisor.cli",
        "serve",
        "--recording",
        str(RECORDING),
        "--listen",
        f"127.0.0.1:{port}",
    ]
    with subprocess.Popen(command, cwd=ROOT) as sidecar:
        try:
            _wait(f"http://127.0.0.1:{port}/readyz")
            yield f"http://127.0.0.1:{port}/"
        finally:
            sidecar.terminate()


def _wait(url: str) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - an address of this module
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    sys.exit(f"no answer at {url} within {_START_SECONDS} s")


if __name__ == "__main__":
    write()
