"""Ansible: tasks that set the running server, and keep the value over a restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.contract.plan import Applied, Patch, RollOut, TargetName
from advisor.contract.recommendation import tidy
from advisor.contract.settings import SETTINGS
from advisor.plan.targets.manifest import yaml_text
from advisor.plan.targets.option_block import written
from advisor.plan.targets.target import MemorySize, Patches, Reach, SettingLine
from exporter.server import Server

FILE = "{{ mysql_option_file }}"
"""The variable that names the option file: where it is differs from system to system."""


@dataclass(frozen=True, slots=True)
class Ansible:
    """Tasks of the collections ansible.mysql and ansible.mariadb."""

    name: TargetName = "ansible"
    memory_applied: Applied = Applied.BY_HAND

    def settings(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> Patches:  # noqa: ARG002 - a playbook is not read
        """Tasks to put into a playbook. Raises PlanRefused."""
        Reach().refuse(self.name, server)
        back = tuple(line.back for line in lines)
        forward, undo = (
            Patch(file=file, form="tasks", text=yaml_text([*_tasks(server, some)]), whole=False)
            for file, some in (("tasks.yaml", lines), ("undo-tasks.yaml", back))
        )
        return Patches(forward, undo)

    def memory(self, before: MemorySize, after: MemorySize, manifest: str | None) -> Patches | None:  # noqa: ARG002 - as all owners
        """None: no module of these collections holds memory."""
        return None

    def roll_out(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> RollOut:  # noqa: ARG002 - as all owners
        """Live where the server takes all lines. Raises PlanRefused."""
        Reach().refuse(self.name, server)
        static = ", ".join(line.setting for line in lines if not line.dynamic)
        kept = all(_persisted(server, line) for line in lines)
        how = (
            "The tasks set the value on each host of the play, and keep it in mysqld-auto.cnf."
            if kept
            else f"The tasks set the value on each host of the play, and write it into the file that {FILE} names. Put "
            "the line into the template of that file too, if there is one."
        )
        return RollOut(
            applied=Applied.BY_HAND if static else Applied.LIVE,
            how=f"{how} The running server does not take {static}: restart it." if static else how,
            source="documents of the module mysql_variables (ansible.mysql, to which community.mysql redirects)",
            sure=True,
        )


def _tasks(server: Server, lines: tuple[SettingLine, ...]) -> Iterator[Mapping[str, Any]]:
    collection = "mariadb" if server.mariadb else "mysql"
    for line in lines:
        value = line.after if isinstance(line.after, str) else tidy(line.after)
        persisted = _persisted(server, line)
        if line.dynamic or persisted:
            variable = {"variable": line.setting, "value": value}
            mode = {"mode": "persist" if line.dynamic else "persist_only"} if persisted else {}
            module = f"ansible.{collection}.{collection}_variables"
            yield {"name": f"Set {line.setting}", module: variable | mode}
        if not persisted:
            option = {"path": FILE, "section": "mysqld", "option": line.setting, "value": written(line.after)}
            yield {"name": f"Keep {line.setting}", "community.general.ini_file": option}


def _persisted(server: Server, line: SettingLine) -> bool:
    return server.set_persist and SETTINGS[line.setting].entry.persisted
