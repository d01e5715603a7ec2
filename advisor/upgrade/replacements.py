"""What takes the place of a variable that the new version does not know, with the value of the old one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from advisor.contract.recommendation import tidy
from advisor.contract.settings import SettingValue
from advisor.contract.sql import option
from advisor.contract.upgrade import OptionLine
from exporter.knowledge import REPLACED
from exporter.rows import number
from exporter.server import Server

_Line = tuple[str, str]
"""A variable and its value."""


def replacement_of(
    name: str, value: str | None, settings: Mapping[str, SettingValue], after: Server
) -> OptionLine | None:
    """The option line that does on the new version what a removed variable did.

    Args:
        name: Of the removed variable.
        value: As it is set; None where only the name is known.
        settings: Those of knowledge.toml, as the old version's next start would have them.
        after: The server with the new version.
    """
    line = _renamed(name, value, after)
    if line is None and value is not None and not after.mariadb:
        special = _SPECIAL.get(name)
        line = None if special is None else special(value, settings)
    if line is None:
        return None
    return OptionLine(line=f"{line[0]} = {option(line[1])}", reason=f"It replaces {name}")


def _renamed(name: str, value: str | None, after: Server) -> _Line | None:
    replacement = REPLACED.get(after.family, {}).get(name)
    if replacement is None or value is None:
        return None
    amount = number(value)
    times = replacement.times
    return replacement.by, value if amount is None or times == 1 else str(tidy(amount * times))


def _redo_log_capacity(_: str, settings: Mapping[str, SettingValue]) -> _Line | None:
    """The bytes of all log files."""
    size, files = settings.get("innodb_log_file_size"), settings.get("innodb_log_files_in_group")
    if not isinstance(size, float) or not isinstance(files, float):
        return None
    return "innodb_redo_log_capacity", f"{size * files:.0f}"


def _error_verbosity(warnings: str, _: Mapping[str, SettingValue]) -> _Line | None:
    """Errors; with warnings; from 2 on also with notes."""
    level = number(warnings)
    return None if level is None else ("log_error_verbosity", str(1 + min(2, int(level))))


def _mapped_files(used: str, _: Mapping[str, SettingValue]) -> _Line:
    """As many bytes in mapped files as by default before MySQL 8.4, or none."""
    return "temptable_max_mmap", "0" if used.upper() in ("0", "OFF", "FALSE") else str(2**30)


_SPECIAL: Mapping[str, Callable[[str, Mapping[str, SettingValue]], _Line | None]] = {
    "innodb_log_file_size": _redo_log_capacity,
    "innodb_log_files_in_group": _redo_log_capacity,
    "log_warnings": _error_verbosity,
    "temptable_use_mmap": _mapped_files,
}
"""By the removed variable, what makes the line of its value and of all settings."""
