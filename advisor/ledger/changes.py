"""Changes of settings between two snapshots, with what takes them back."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from advisor.contract.changes import change_on, refuses
from advisor.contract.recommendation import Number
from advisor.contract.settings import SettingValue
from advisor.ledger.entry import Changed
from advisor.observe.window import changed_settings, setting_value
from exporter.snapshot import Snapshot

_SAME = 0.01
"""Share by which a number may differ from the advised one: a server rounds the size of its pool."""


def changes_between(before: Snapshot, after: Snapshot) -> Iterator[Changed]:
    """The settings that have another value in the later snapshot."""
    for name in changed_settings(before, after):
        yield _changed(after, name, setting_value(before, name), setting_value(after, name))


def net_changes(changes: Iterable[Changed], latest: Snapshot) -> Iterator[Changed]:
    """Changes in order as one for each setting; none where it has its first value again."""
    first: dict[str, Number | str | None] = {}
    last: dict[str, Number | str | None] = {}
    for change in changes:
        first.setdefault(change.setting, change.before)
        last[change.setting] = change.after
    for setting, before in first.items():
        if before != last[setting]:
            yield _changed(latest, setting, before, last[setting])


def is_same(value: Number | str | None, other: Number | str | None) -> bool:
    """Whether two values of a setting are the same, but for a server's rounding."""
    if isinstance(value, int | float) and isinstance(other, int | float):
        return math.isclose(value, other, rel_tol=_SAME)
    return value == other


def _changed(latest: Snapshot, name: str, before: Number | str | None, after: Number | str | None) -> Changed:
    """A change with what takes it back: nothing where the server does not accept the old value."""
    old = _as_set(before)
    if old is None or refuses(latest.server, name, old) is not None:
        return Changed(setting=name, before=before, after=after)
    back = change_on(latest.server, name, _as_set(after), old)
    return Changed(setting=name, before=before, after=after, undo=back.apply, undo_config=back.config)


def _as_set(value: Number | str | None) -> SettingValue | None:
    return float(value) if isinstance(value, int | float) else value
