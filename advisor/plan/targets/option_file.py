"""The server's own option file, and systemd's limit of its memory."""

from __future__ import annotations

from advisor.contract.plan import Applied, RollOut, TargetName
from advisor.contract.recommendation import Change
from advisor.plan.targets.option_block import OptionBlock
from advisor.plan.targets.target import NOTHING_TO_PATCH, Patches, PlanRefused, Reach, taken_back
from exporter.server import Server

_BLOCK = OptionBlock()
_HOW = (
    "The server reads its option file at the next start. Until then the running server has what SET GLOBAL or SET "
    "PERSIST gives it; of files read later (!includedir), and of mysqld-auto.cnf, the same line wins over this one."
)


class CnfFile:
    """A server whose option file and unit are edited by hand or by a tool that copies files."""

    name: TargetName = "cnf"
    reach = Reach()
    memory_applied = Applied.LIVE

    def settings(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> Patches:
        """The whole file, if it was given, or the lines. Raises PlanRefused."""
        text = _BLOCK.changed(manifest or "", changes, server)
        if text == manifest:
            raise PlanRefused(NOTHING_TO_PATCH)
        back = _BLOCK.changed("", tuple(map(taken_back, changes)), server) if manifest is None else manifest
        return Patches.of("my.cnf", "option file", (text, back), whole=manifest is not None)

    def memory(self, before: int, after: int, manifest: str | None) -> Patches | None:  # noqa: ARG002 - no unit is in the option file
        """A drop-in of the server's unit."""
        texts = f"[Service]\nMemoryMax={after}\n", f"[Service]\nMemoryMax={before}\n"
        return Patches.of("memory.conf", "systemd drop-in", texts)

    def roll_out(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> RollOut:  # noqa: ARG002 - it is the same for all
        """Nothing happens by itself."""
        return RollOut(
            applied=Applied.BY_HAND, how=_HOW, source="manuals of MySQL and MariaDB, Using Option Files", sure=True
        )
