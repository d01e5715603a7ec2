"""Ansible: tasks that set the running server, and keep the value over a restart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from advisor.contract.plan import Applied, RollOut, TargetName
from advisor.contract.recommendation import Change
from advisor.contract.settings import SETTINGS
from advisor.plan.targets.manifest import yaml_text
from advisor.plan.targets.target import Patches, Reach, taken_back, written
from exporter.server import Server

FILE = "{{ mysql_option_file }}"
"""The variable that names the option file: where it is differs from system to system."""


class Ansible:
    """Tasks of the collections ansible.mysql and ansible.mariadb."""

    name: TargetName = "ansible"
    reach = Reach()
    memory_applied = Applied.BY_HAND

    def settings(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> Patches:  # noqa: ARG002 - a playbook is not read
        """Tasks to put into a playbook."""
        texts = yaml_text([*_tasks(server, changes)]), yaml_text([*_tasks(server, map(taken_back, changes))])
        return Patches.of("tasks.yaml", "tasks", texts, whole=False)

    def memory(self, before: int, after: int, manifest: str | None) -> Patches | None:  # noqa: ARG002 - as all owners
        """None: no module of these collections holds memory."""
        return None

    def roll_out(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> RollOut:  # noqa: ARG002 - as all owners
        """Live where the server takes all lines."""
        static = ", ".join(change.setting for change in changes if not change.dynamic)
        kept = all(_persisted(server, change) for change in changes)
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


def _tasks(server: Server, changes: Iterable[Change]) -> Iterator[Mapping[str, Any]]:
    collection = "mariadb" if server.mariadb else "mysql"
    for change in changes:
        persisted = _persisted(server, change)
        if change.dynamic or persisted:
            variable = {"variable": change.setting, "value": change.to}
            mode = {"mode": "persist" if change.dynamic else "persist_only"} if persisted else {}
            module = f"ansible.{collection}.{collection}_variables"
            yield {"name": f"Set {change.setting}", module: variable | mode}
        if not persisted:
            option = {"path": FILE, "section": "mysqld", "option": change.setting, "value": written(change.to)}
            yield {"name": f"Keep {change.setting}", "community.general.ini_file": option}


def _persisted(server: Server, change: Change) -> bool:
    return server.set_persist and SETTINGS[change.setting].entry.persisted
