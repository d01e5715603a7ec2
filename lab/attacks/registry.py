"""All attacks, in the table's order."""

from __future__ import annotations

from lab.attacks import idle
from lab.attacks.attack import Attack

ATTACKS: dict[str, Attack] = {attack.name: attack for module in (idle,) for attack in module.ATTACKS}
