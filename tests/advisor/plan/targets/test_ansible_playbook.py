"""Tasks of a plan in a playbook, as ansible-playbook takes them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from advisor.plan.targets import TARGETS
from exporter.server import Server
from tests.advisor.plan.targets.owners import MARIADB, MYSQL, MYSQL_57, advised

pytestmark = pytest.mark.system

MODULES = (
    "ansible/mysql/plugins/modules/mysql_variables.py",
    "ansible/mariadb/plugins/modules/mariadb_variables.py",
    "community/general/plugins/modules/ini_file.py",
)
"""Their names alone: no registry that is used here has the collections of 2026 for this Python."""


@pytest.mark.parametrize("server", [MYSQL, MYSQL_57, MARIADB], ids=str)
def test_the_tasks_of_every_setting_are_a_playbook(server: Server, tmp_path: Path) -> None:
    for module in MODULES:
        stub = tmp_path / "ansible_collections" / module
        stub.parent.mkdir(parents=True)
        stub.touch()
    patches = [TARGETS["ansible"].settings(server, (change,), None) for change in advised(server)]
    tasks = "".join(text for both in patches for text in (both.patch.text, both.undo.text))
    playbook = tmp_path / "playbook.yaml"
    playbook.write_text(f"- hosts: all\n  tasks:\n{textwrap.indent(tasks, '    ')}", encoding="utf-8")
    done = subprocess.run(  # noqa: S603 - a tool of the tests
        [Path(sys.executable).with_name("ansible-playbook"), "--inventory=localhost,", "--syntax-check", playbook],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path), "ANSIBLE_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"playbook: {playbook}" in done.stdout
