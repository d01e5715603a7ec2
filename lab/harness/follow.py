"""Follow a recommendation on a real server as a user would, and take it back."""

from __future__ import annotations

from typing import Any

import pymysql

from advisor.contract.recommendation import Action, Change
from advisor.contract.settings import SETTINGS
from lab.harness.measure import wait_until
from lab.harness.records import NotShown
from lab.harness.workloads import ask
from lab.servers import PrivateServer
from lab.servers.sql import execute

RESIZING_SECONDS = 60.0
"""A pool goes on resizing after the statement."""


class Following:
    """Changes and actions that are executed on a server unchanged, in order, and rolled back in reverse.

    Attributes:
        server: The running server.
        applied: The executed statements, and the lines of the option file that a restart got.
        taken_back: The same of the rollback.
    """

    def __init__(self, server: PrivateServer) -> None:
        self.server = server
        self.applied: list[str] = []
        self.taken_back: list[str] = []
        self._followed: list[tuple[tuple[Change, ...], tuple[Action, ...]]] = []
        self._before: dict[str, str] = {}
        self._by_hand: dict[str, str] = {}

    def follow(self, changes: tuple[Change, ...], actions: tuple[Action, ...] = (), **by_hand: str) -> None:
        """Execute the statements unchanged, and wait until the settings have their values.

        If a change needs a restart, the restart gets the lines of the option file of all changes.

        Args:
            changes: Changes of settings.
            actions: Other actions.
            by_hand: Lines of the option file that an action names in its text but has no statement for.

        Raises:
            NotShown: The server refuses a statement or a value, or no action names the line.
        """
        self._followed.append((changes, actions))
        for change in changes:
            self._before.setdefault(change.setting, self._printed(change.setting))
        self._execute(
            *(statement for change in changes for statement in change.apply),
            *(statement for action in actions for statement in action.apply),
            into=self.applied,
        )
        if any(not change.apply for change in changes):
            # A restart reverts SET GLOBAL, so every change needs its line.
            lines = [change.config for change in changes]
            self.server.restart(dict(line.split(" = ") for line in lines))
            self.applied += lines
        for change in changes:
            self._wait_for(change.setting, change.to)
        for name, value in by_hand.items():
            line = f"{name} = {value}"
            if not any(line in action.do for action in actions):
                raise NotShown(f"no action names {line}")
            self._by_hand[name] = self._printed(name)
            self.applied.append(line)
        if by_hand:
            self.server.restart(by_hand)

    def take_back(self) -> None:
        """Execute the rollbacks, and check that the settings have their old values.

        Raises:
            NotShown: The server refuses a statement, or a setting differs.
        """
        for changes, actions in reversed(self._followed):
            self._execute(
                *(statement for action in reversed(actions) for statement in action.rollback),
                *(statement for change in reversed(changes) for statement in change.rollback),
                into=self.taken_back,
            )
        # A change that a running server accepts may still need a restart for its way back.
        if self._by_hand or any(not change.rollback for changes, _ in self._followed for change in changes):
            lines = self._before | self._by_hand
            self.server.restart(lines)
            self.taken_back += [f"{name} = {value}" for name, value in lines.items()]
        for name, value in self._before.items():
            self._wait_for(name, SETTINGS[name].read(value))

    @property
    def reversible(self) -> bool:
        """Whether there is anything to roll back: ANALYZE TABLE cannot be."""
        return any(
            changes or self._by_hand or any(action.rollback for action in actions)
            for changes, actions in self._followed
        )

    def _execute(self, *statements: str, into: list[str]) -> None:
        for statement in statements:
            try:
                execute(self.server, statement)
            except pymysql.MySQLError as error:
                raise NotShown(f"the server refuses {statement}: {error}") from None
            into.append(statement)

    def _printed(self, setting: str) -> str:
        with self.server.connect() as connection:
            [(_, value)] = ask(connection, f"SHOW GLOBAL VARIABLES LIKE '{setting}'")
        return str(value)

    def _wait_for(self, setting: str, value: Any) -> None:
        wait_until(
            lambda: SETTINGS[setting].read(self._printed(setting)) == value,
            RESIZING_SECONDS,
            f"{setting} is not {value}",
        )
