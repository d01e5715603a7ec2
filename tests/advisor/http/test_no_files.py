"""What is no file, in place of the files of a running sidecar: it is refused by name, and what was there stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.http import web_settings
from tests.advisor.building import RECORDING, capture
from tests.advisor.http.secured import hashed, write
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem, write_rule

LOGIN = ("alice", "a password")


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 10 << 30)


OTHERS: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a sparse file of 10 GB": sparse,
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_running_sidecar_refuses_what_took_the_place_of_its_files(
    other: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_settings, "CHECK_SECONDS", 0.0)
    (tmp_path / "rules").mkdir()
    rule = write_rule(tmp_path / "rules", id="mine")
    web = write(tmp_path / "web.yml", {"basic_auth_users": {LOGIN[0]: hashed(LOGIN[1])}})
    options = ("--rules", rule.parent, "--web-config", web)
    with InProcess("--recording", capture(RECORDING), *options) as sidecar:
        for path in (rule, web):
            path.unlink()
            other(path)
        assert sidecar.get("/metrics", auth=LOGIN).status_code == 200
        assert sidecar.get("/metrics").status_code == 401
        assert f"the old web configuration stays in force: {web}" in sidecar.log()
        status, why = problem(sidecar.post("/-/reload", auth=LOGIN))
        assert (status, f"{rule}: cannot read it" in why) == (400, True), why
        assert "mine" in {rule["id"] for rule in sidecar.get("/rules", auth=LOGIN).json()["rules"]}
        assert sidecar.get("/metrics", auth=LOGIN).status_code == 200
