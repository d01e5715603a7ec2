"""A change of a setting on the server at hand: its statements, or the place where the change is made instead."""

from __future__ import annotations

import re

from advisor.contract.recommendation import Action, Change, tidy
from advisor.contract.settings import SETTINGS, SettingValue
from advisor.contract.sql import literal, option
from exporter.rows import number
from exporter.server import Managed, Server
from exporter.snapshot import Snapshot

BY_SQL = "SQL"
BY_RESTART = "option file and restart"
BY_SERVICE: dict[Managed, str] = {
    "aurora": "parameter group of the DB instance or cluster (Amazon Aurora)",
    "rds": "DB parameter group (Amazon RDS)",
    "azure": "server parameters (Azure)",
    "cloudsql": "database flags (Cloud SQL)",
}
_GLOBAL = re.compile(r"\s*SET\s+(@@)?(GLOBAL|PERSIST|PERSIST_ONLY)\b", re.IGNORECASE)


def refuses(server: Server, setting: str, value: SettingValue) -> str | None:
    """Why a server does not accept a value for a setting, as a sentence without its full stop; None if it does.

    Raises:
        KeyError: The setting is not in knowledge.toml.
    """
    known = SETTINGS[setting]
    reasons = known.entry.refused
    if "anywhere" in reasons:
        return f"{setting} cannot be changed: {reasons['anywhere']}"
    if server.managed is not None and server.managed in reasons:
        return f"{setting} cannot be changed there: {reasons[server.managed]}"
    if not known.exists_on(server):
        return f"{server} has no {setting}"
    if not known.accepts(value, server):
        return f"{setting} cannot be {_literal(value)} there: it takes {known.range_on(server)}"
    return None


def change_on(server: Server, setting: str, before: SettingValue | None, after: SettingValue) -> Change:
    """A change of a setting, with the statements that apply it, undo it and keep it over a restart.

    Customers of a cloud service cannot use SET GLOBAL and SET PERSIST: there are no statements then, and ``via`` names
    the place. Where only a restart applies the change, SET PERSIST_ONLY keeps it for the next one.

    Args:
        server: The server to change.
        setting: A name of knowledge.toml for which `refuses` returns None.
        before: The present value, which the rollback restores; None if it is not known.
        after: The new value.

    Raises:
        KeyError: The setting is not in knowledge.toml.
    """
    known = SETTINGS[setting]
    dynamic, persisted = known.dynamic_on(server), known.entry.persisted and server.set_persist
    apply: tuple[str, ...] = ()
    persist: tuple[str, ...] = ()
    undo = None
    if server.managed is None and dynamic:
        apply, undo = (f"SET GLOBAL {setting} = {_literal(after)}",), "GLOBAL"
        persist = (f"SET PERSIST {setting} = {_literal(after)}",) if persisted else ()
    elif server.managed is None and persisted:
        persist, undo = (f"SET PERSIST_ONLY {setting} = {_literal(after)}",), "PERSIST_ONLY"
    return Change(
        setting=setting,
        from_=_tidy(before),
        to=after if isinstance(after, str) else tidy(after),
        dynamic=dynamic,
        apply=apply,
        rollback=(f"SET {undo} {setting} = {_literal(before)}",) if undo and before is not None else (),
        persist=persist,
        config=f"{setting} = {option(after) if isinstance(after, str) else _tidy(after)}",
        via=BY_SERVICE[server.managed] if server.managed else BY_SQL if dynamic else BY_RESTART,
        note=" ".join(_notes(server, setting, dynamic=dynamic)),
    )


def change_at(latest: Snapshot, setting: str, before: SettingValue | None, after: SettingValue) -> Change:
    """A change on the server of a snapshot, like `change_on`.

    Newer releases of MariaDB need a restart to grow the pool beyond innodb_buffer_pool_size_max.
    """
    change = change_on(latest.server, setting, before, after)
    largest = number(latest.setting("innodb_buffer_pool_size_max"))
    if setting == "innodb_buffer_pool_size" and largest and isinstance(after, float) and after > largest:
        return at_restart(change)
    return change


def at_restart(change: Change) -> Change:
    """The same change, where SET GLOBAL accepts other values but this one needs a restart."""
    via = BY_RESTART if change.via == BY_SQL else change.via
    return change.model_copy(update={"dynamic": False, "apply": (), "rollback": (), "persist": (), "via": via})


def action_on(server: Server, action: Action) -> Action:
    """The same action; where a cloud service refuses its SET statements, with the place to set them instead."""
    refused = [statement for statement in action.apply if _GLOBAL.match(statement)]
    if server.managed is None or not refused:
        return action
    place = f"{action.do}. The service does not accept {'; '.join(refused)}: set it in the {BY_SERVICE[server.managed]}"
    apply, rollback = (
        tuple(statement for statement in statements if not _GLOBAL.match(statement))
        for statements in (action.apply, action.rollback)
    )
    return action.model_copy(update={"do": place, "apply": apply, "rollback": rollback})


def _notes(server: Server, setting: str, *, dynamic: bool) -> list[str]:
    notes = []
    if dynamic and SETTINGS[setting].entry.scope == "session":
        notes.append("Open sessions keep their value; only new sessions get this one.")
    if not dynamic and server.managed is not None:
        notes.append("It takes effect when the instance is restarted.")
    if not dynamic and server.group_replication:
        notes.append("Restart one member of the group at a time, secondaries first.")
    return notes


def _literal(value: SettingValue) -> str:
    """The value as SQL writes it."""
    if not isinstance(value, str):
        return str(tidy(value))
    return value if value in ("ON", "OFF") else literal(value)


def _tidy(value: SettingValue | None) -> int | float | str | None:
    return tidy(value) if isinstance(value, float | int) else value
