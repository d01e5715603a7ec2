"""Real servers read a changed option file as it is meant: the new value counts, and all other options stay."""

from __future__ import annotations

import subprocess
from pathlib import Path

from advisor.plan.targets import TARGETS
from advisor.plan.targets.target import written
from exporter.server import identify
from lab.servers import PrivateServer, programs
from tests.advisor.plan.targets.owners import advised

SECTIONS = """
[mysqld]
max-connections = 100  # the shop's
loose_innodb-old-blocks_pct = '40'
[mariadb]
innodb_old_blocks_pct=41
[mysqld-9.7]
innodb_old_blocks_pct=42
[mysqld-5.6]
loose-innodb_old_blocks_pct=43
[mariadb-11.8]
innodb_old_blocks_pct=44
[mariadbd-10.5]
innodb_old_blocks_pct=45
[client]
innodb_old_blocks_pct=46
"""
TEXTS = (
    "",
    "[client]\nport=1",
    "[server]\nmax_connections=100",
    "[mysqld]\r\nmax_connections=100\r\n",
    SECTIONS,
    f"{SECTIONS}[server]\nskip_name_resolve\n",
    "[mysqld]\ninnodb_old_blocks_pct=1\n[server]\ninnodb-old-blocks-pct = 2 # 3\n[mysqld]\n",
)


def options_of(name: str, path: Path) -> list[tuple[str, str]]:
    """The options that a server takes from a file, in their order."""
    program = programs.find(name)
    said = subprocess.run(  # noqa: S603 - the server of this test
        [*program.command, f"--defaults-file={path}", "--print-defaults"],
        env=dict(program.environment),
        capture_output=True,
        check=True,
    ).stdout.decode()
    words = (word.removeprefix("--").partition("=") for word in said.split() if word.startswith("--"))
    return [(option.replace("-", "_").removeprefix("loose_"), value) for option, _, value in words]


def test_the_new_value_counts_and_other_options_stay(server: PrivateServer, tmp_path: Path) -> None:
    identity = identify({"version": programs.find(server.name).version})
    path = tmp_path / "my.cnf"
    changes = tuple(advised(identity))
    new = {change.setting: written(change.to) for change in changes}
    for text in TEXTS:
        path.write_bytes(text.encode())
        before = dict(options_of(server.name, path))
        patches = TARGETS["cnf"].settings(identity, changes, text)
        path.write_bytes(patches.patch.text.encode())
        assert dict(options_of(server.name, path)) == {**before, **new}
        assert patches.undo.text == text
