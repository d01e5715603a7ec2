"""All attacks, in the table's order."""

from __future__ import annotations

from lab.attacks import abandoned, crowds, idle, logins
from lab.attacks.attack import Attack

ATTACKS: dict[str, Attack] = {
    attack.name: attack for module in (idle, abandoned, crowds, logins) for attack in module.ATTACKS
}
