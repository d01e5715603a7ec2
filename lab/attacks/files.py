"""What is no file, in place of the files of a running sidecar that people write: rules and web configuration."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from lab.attacks.attack import Attack, Line, Stage
from lab.attacks.state import served
from lab.attacks.texts import RULE, TEXT
from lab.processes.service import PLAIN

_SECONDS, _SHORT_SECONDS = 15.0, 4.0
"""The sidecar looks at its rules every few seconds, and at the web configuration at each request."""


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 10 << 30)


_OTHERS: dict[str, Callable[[Path], object]] = {
    "pipes": _pipe,
    "links to a device": lambda path: path.symlink_to("/dev/zero"),
    "sparse files of 10 GB": _sparse,
    "folders": Path.mkdir,
}


def _replaced(stage: Stage) -> Iterator[Line]:
    with TemporaryDirectory() as place:
        rule, web = Path(place) / "rules" / f"{RULE}.yaml", Path(place) / "web.yaml"
        rule.parent.mkdir()
        rule.write_text(TEXT, encoding="utf-8")
        web.write_text("http_server_config: {http2: false}\n", encoding="utf-8")
        with stage.sidecar("--rules", str(rule.parent), "--web-config", str(web)) as sidecar:
            for name, other in list(_OTHERS.items())[: 2 if stage.short else None]:
                stage.say(name)
                for path in (rule, web):
                    _remove(path)
                    other(path)
                yield served(f"{name} in place of files", sidecar, _SHORT_SECONDS if stage.short else _SECONDS)
                reload = httpx.post(f"{sidecar.url}/-/reload", timeout=30, **PLAIN)
                named = rule.name in reload.text and "cannot read it" in reload.text
                yield Line(f"{name}: reloading the rules", "refused by name", f"{reload.status_code}", named)
            found = httpx.get(f"{sidecar.url}/rules", timeout=30, **PLAIN).json()["rules"]
            kept = RULE in {each["id"] for each in found}
            yield Line("the rule that was there before", "in force", "in force" if kept else "gone", kept)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


ATTACKS = (
    Attack(
        "no-files",
        "pipes, devices and folders in place of the rules and the web configuration of a running sidecar",
        _replaced,
        (65.0, 10.0),
    ),
)
