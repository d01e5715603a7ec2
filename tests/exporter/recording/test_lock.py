import os
import subprocess
import sys
from pathlib import Path

import pytest

from exporter.recording import folder as folders
from exporter.recording.lock import InUse, locked
from tests.advisor.building import REPOSITORY

ADDRESS = "db1:3306"
HOLDER = """
import sys
from pathlib import Path
from exporter.recording.lock import locked
with locked(Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_sidecar_is_refused_by_name_until_the_first_is_gone_however_it_ends(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", HOLDER, str(folder), ADDRESS],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        said = rf"{folder} is in use for {ADDRESS} by another sidecar \(process {holder.pid} on .*\): end that one, or"
        with pytest.raises(InUse, match=said), locked(folder, ADDRESS):
            pass
        with locked(folder, "db2:3306"):  # another server's files are others
            pass
        holder.kill()
        holder.wait()
    with locked(folder, ADDRESS), pytest.raises(InUse), locked(folder, ADDRESS):
        pass
    with locked(folder, ADDRESS):
        pass


def test_a_note_that_a_sidecar_did_not_write_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / f"{folders.key(ADDRESS)}.lock"
    with locked(tmp_path, ADDRESS):
        path.write_bytes(b"\x1b[31mprocess 1 on \x1b]0;x\n")
        with pytest.raises(InUse, match="by another sidecar: end that one") as refused, locked(tmp_path, ADDRESS):
            pass
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize("place", ["a file", "a link", "a pipe", "a folder"])
def test_a_folder_that_cannot_be_locked_is_said_and_nothing_else(
    place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, path = tmp_path, tmp_path / f"{folders.key(ADDRESS)}.lock"
    victim = tmp_path / "victim"
    victim.write_text("mine")
    match place:
        case "a file":
            folder = victim
        case "a link":
            path.symlink_to(victim)
        case "a pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    with locked(folder, ADDRESS):
        pass
    assert victim.read_text() == "mine"
    assert (f"cannot lock {folder}" in caplog.text) is (place != "a pipe")
