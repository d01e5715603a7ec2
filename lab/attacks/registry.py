"""All attacks, in the table's order."""

from __future__ import annotations

from lab.attacks import (
    abandoned,
    browsers,
    crowds,
    files,
    hostile_server,
    idle,
    logins,
    memory,
    notifications,
    recordings,
    rules,
    state,
    tables,
    texts,
)
from lab.attacks.attack import Attack

_MODULES = (
    idle,
    memory,
    abandoned,
    crowds,
    logins,
    browsers,
    hostile_server,
    tables,
    rules,
    texts,
    recordings,
    files,
    state,
    notifications,
)
ATTACKS: dict[str, Attack] = {attack.name: attack for module in _MODULES for attack in module.ATTACKS}
