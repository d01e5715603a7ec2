"""Lines of an option file (my.cnf), changed in its text: everything else stays as it is, to the byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advisor.contract.recommendation import Change
from advisor.plan.targets.manifest import Place
from advisor.plan.targets.target import PlanRefused, written
from advisor.upgrade.options import groups_of, variable_of
from exporter import option_file
from exporter.option_file import Option, OptionFile, OptionFileError
from exporter.server import Server

HEADER = "[mysqld]"


@dataclass(frozen=True, slots=True)
class OptionBlock:
    """The text of an option file, as its owner reads it.

    Attributes:
        headless: Whether lines before the first header are the server's.
        underscores: Whether the owner takes names in SQL's form only.
    """

    headless: bool = False
    underscores: bool = False

    def edits(self, present: Any, changes: tuple[Change, ...], server: Server) -> Mapping[Place, Any]:
        """The whole text, changed.

        Raises:
            PlanRefused: It is no option file.
        """
        return {(): self.changed(present or "", changes, server)}

    def changed(self, text: str, changes: tuple[Change, ...], server: Server) -> str:
        """The text with settings changed: of equal names the last line counts, and that one is changed.

        A setting without a line gets one at the end of the last section that the server reads.

        Raises:
            PlanRefused: It is no option file.
        """
        file, offset = self._read(text)
        rows = text.split("\n")
        present = self._present(file, changes, server)
        for setting, option in present.items():
            row = option.line - offset - 1
            value = next(change.to for change in changes if change.setting == setting)
            rows[row] = self._renamed(option_file.with_value(rows[row], written(value)))
        added = [change.config for change in changes if change.setting not in present]
        groups = groups_of(server)
        ends = [line for group, line in file.groups.items() if group in groups]
        if not added:
            return "\n".join(rows)
        if not ends:
            return "\n".join(rows) + ("" if not text or text.endswith("\n") else "\n") + "\n".join([HEADER, *added, ""])
        end = max(ends) - offset
        carriage = "\r" if end and rows[end - 1].endswith("\r") else ""
        rows[end:end] = [row + carriage for row in added]
        return "\n".join(rows)

    def missing(self, text: str, changes: tuple[Change, ...], server: Server) -> tuple[Change, ...]:
        """The changes whose settings the text does not have.

        Raises:
            PlanRefused: It is no option file.
        """
        present = self._present(self._read(text)[0], changes, server)
        return tuple(change for change in changes if change.setting not in present)

    def names(self, text: str, server: Server) -> frozenset[str]:
        """The names of the server's options as the text has them, in lower case.

        Raises:
            PlanRefused: It is no option file.
        """
        file, offset = self._read(text)
        rows = text.split("\n")
        lines = (rows[option.line - offset - 1] for option in file.options if option.group in groups_of(server))
        return frozenset(line.partition("=")[0].strip().lower() for line in lines)

    def _read(self, text: str) -> tuple[OptionFile, int]:
        """The options, and the number of lines that were put before the text to read it."""
        try:
            return option_file.read(text), 0
        except OptionFileError as error:
            if not self.headless:
                raise _refused(error.line) from None
        try:
            return option_file.read(f"{HEADER}\n{text}"), 1
        except OptionFileError as error:
            raise _refused(error.line - 1) from None

    def _present(self, file: OptionFile, changes: tuple[Change, ...], server: Server) -> dict[str, Option]:
        """The options that count for settings, where they are plain: not ``skip-``."""
        groups = groups_of(server)
        last = {variable_of(option).name: option for option in file.options if option.group in groups}
        return {
            change.setting: last[change.setting]
            for change in changes
            if change.setting in last and _bare(last[change.setting]) == change.setting
        }

    def _renamed(self, line: str) -> str:
        name, equals, value = line.partition("=")
        return (name.replace("-", "_") if self.underscores else name) + equals + value


def _refused(line: int) -> PlanRefused:
    return PlanRefused(f"The manifest's my.cnf is not one that can be changed: {OptionFileError(line)}.")


def _bare(option: Option) -> str:
    """The name without the prefix that lets a server without the variable ignore the line."""
    return option.name.replace("-", "_").removeprefix("loose_")
