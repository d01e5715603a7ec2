from pathlib import Path

import pytest

from lab.packages.cache import UnavailableHere
from tools import helm


def test_without_go_helm_is_unavailable_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INNODB_ADVISOR_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableHere, match="built with Go, which this machine lacks"):
        helm.program()
    assert not list(tmp_path.glob("helm/v*"))


def test_a_missing_module_gives_a_one_line_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text("#!/bin/sh\necho 'go: downloading a' >&2\necho 'go: no such host' >&2\nexit 1\n", encoding="utf-8")
    go.chmod(0o755)
    monkeypatch.setenv("INNODB_ADVISOR_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", f"{go.parent}:/bin:/usr/bin")
    with pytest.raises(UnavailableHere, match=rf"^helm {helm.VERSION}: go ended with status 1: go: no such host$"):
        helm.program()
