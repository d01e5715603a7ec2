"""A change of a setting on the server at hand: its statements, or the place where the change is made instead."""

from __future__ import annotations

import re

from advisor.contract.recommendation import Action, Change, tidy
from advisor.contract.settings import SETTINGS, SettingValue, json_value
from advisor.contract.sql import literal, option
from exporter.knowledge import BUGS, Consequence, NumberedBug
from exporter.rows import number
from exporter.server import Managed, Server, Version
from exporter.snapshot import Snapshot

BY_SQL = "SQL"
BY_RESTART = "option file and restart"
BY_SERVICE: dict[Managed, str] = {
    "aurora": "parameter group of the DB instance or cluster (Amazon Aurora)",
    "rds": "DB parameter group (Amazon RDS)",
    "azure": "server parameters (Azure)",
    "cloudsql": "database flags (Cloud SQL)",
}
SIZE_MAX = "innodb_buffer_pool_size_max"
_GLOBAL = re.compile(r"\s*SET\s+(@@)?(GLOBAL|PERSIST|PERSIST_ONLY)\b", re.IGNORECASE)


def refuses(server: Server, setting: str, value: SettingValue) -> str | None:
    """Why a server does not accept a value for a setting, as a sentence without its full stop; None if it does.

    Raises:
        KeyError: The setting is not in knowledge.toml.
    """
    variable = SETTINGS[setting]
    reasons = variable.entry.refused
    if "anywhere" in reasons:
        return f"{setting} cannot be changed: {reasons['anywhere']}"
    if server.managed is not None and server.managed in reasons:
        return f"{setting} cannot be changed there: {reasons[server.managed]}"
    if not variable.exists_on(server):
        return f"{server} has no {setting}"
    if not variable.accepts(value, server):
        return f"{setting} cannot be {_literal(value)} there: it takes {variable.range_on(server)}"
    bugs = " ".join(_bugs(server, setting, "refuse", (None, value)))
    return f"{setting} must not be {_literal(value)} there: {bugs[0].lower()}{bugs[1:-1]}" if bugs else None


def change_on(
    server: Server, setting: str, before: SettingValue | None, after: SettingValue, most: float | None = None
) -> Change:
    """A change of a setting, with the statements that apply it, undo it and keep it over a restart.

    Customers of a cloud service cannot use SET GLOBAL and SET PERSIST: there are no statements then, and ``via`` names
    the place. Where only a restart applies the change, SET PERSIST_ONLY keeps it for the next one. A bug of the server
    may leave only the restart, for the change or for its way back; the note says so.

    Args:
        server: The server to change.
        setting: A name of knowledge.toml for which `refuses` returns None.
        before: The present value, which the rollback restores; None if it is not variable.
        after: The new value.
        most: The largest value that the running server accepts; None where not variable.

    Raises:
        KeyError: The setting is not in knowledge.toml.
    """
    variable = SETTINGS[setting]
    persisted = variable.entry.persisted and server.set_persist
    unsafe = _bugs(server, setting, "restart", (before, after), most)
    beyond = most is not None and isinstance(after, float) and after > most
    dynamic = variable.dynamic_on(server) and not (unsafe or beyond)
    notes = _bugs(server, setting, "warn", (before, after)) if dynamic else unsafe
    # The present value is one that the running server accepts.
    no_undo: list[str] = []
    if dynamic and before is not None:
        no_undo = _bugs(server, setting, "restart", (after, before), number(before))
    if no_undo:
        notes += ["The way back needs a restart.", *no_undo]
    if unsafe and server.managed is not None:
        notes += ["Let the service apply it at a restart, not at once."]
    apply: tuple[str, ...] = ()
    persist: tuple[str, ...] = ()
    undo = None
    if server.managed is None and dynamic:
        apply, undo = (f"SET GLOBAL {setting} = {_literal(after)}",), None if no_undo else "GLOBAL"
        persist = (f"SET PERSIST {setting} = {_literal(after)}",) if persisted else ()
    elif server.managed is None and persisted:
        persist, undo = (f"SET PERSIST_ONLY {setting} = {_literal(after)}",), "PERSIST_ONLY"
    return Change(
        setting=setting,
        from_=json_value(before),
        to=json_value(after),
        dynamic=dynamic,
        apply=apply,
        rollback=(f"SET {undo} {setting} = {_literal(before)}",) if undo and before is not None else (),
        persist=persist,
        config=f"{setting} = {option(after) if isinstance(after, str) else tidy(after)}",
        via=BY_SERVICE[server.managed] if server.managed else BY_SQL if dynamic else BY_RESTART,
        note=" ".join([*notes, *_notes(server, setting, dynamic=dynamic)]),
    )


def change_at(latest: Snapshot, setting: str, before: SettingValue | None, after: SettingValue) -> Change:
    """A change on the server of a snapshot, like `change_on`.

    MariaDB needs a restart to grow the pool beyond innodb_buffer_pool_size_max.
    """
    return change_on(latest.server, setting, before, after, most_at_runtime(setting, latest.setting(SIZE_MAX)))


def most_at_runtime(setting: str, size_max: float | str | None) -> float | None:
    """The largest value that a running server accepts for a setting, by its innodb_buffer_pool_size_max."""
    return number(size_max) or None if setting == "innodb_buffer_pool_size" else None


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


def _bugs(
    server: Server,
    setting: str,
    consequence: Consequence,
    values: tuple[SettingValue | None, SettingValue],
    most: float | None = None,
) -> list[str]:
    """The bugs of the server that make a change dangerous, by what follows, in sentences."""
    return [
        f"{bug.what.rstrip('.')} ({bug.bug}; {fix_of(bug, server)})."
        for name, bug in BUGS.items()
        if bug.setting == setting
        and bug.consequence == consequence
        and server.has(name)
        and bug.concerns(*values, most)
    ]


def fix_of(bug: NumberedBug, server: Server) -> str:
    """The release after the server's that fixes a bug, in words."""
    version = bug.ends_after(server.family, server.version)
    return "no release is known to fix it" if version is None else f"fixed in {release_name(version)}"


def release_name(version: Version) -> str:
    """``8.4.0`` as 8.4: a series stands for its newest patch, which is what people upgrade to."""
    return ".".join(map(str, version if version[2] else version[:2]))


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
