"""The server's own option file, and systemd's limit of its memory."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.contract.plan import Applied, Patch, RollOut, TargetName
from advisor.plan.targets.option_block import OptionBlock
from advisor.plan.targets.target import MemorySize, NothingToPatch, Patches, Reach, SettingLine
from exporter.server import Server

_BLOCK = OptionBlock()
_FILE, _UNIT = "my.cnf", "memory.conf"
_HOW = (
    "The server reads its option file at the next start. Until then the running server has what SET GLOBAL or SET "
    "PERSIST gives it; of files read later (!includedir), and of mysqld-auto.cnf, the same line wins over this one."
)


@dataclass(frozen=True, slots=True)
class CnfFile:
    """A server whose option file and unit are edited by hand or by a tool that copies files."""

    name: TargetName = "cnf"
    memory_applied: Applied = Applied.LIVE

    def settings(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> Patches:
        """The whole file, if it was given, or the lines. Raises PlanRefused."""
        Reach().refuse(self.name, server)
        back = tuple(line.back for line in lines)
        if manifest is None:
            texts = _BLOCK.fragment(lines), _BLOCK.fragment(back)
        else:
            texts = _BLOCK.changed(manifest, lines, server), manifest
            if texts[0] == texts[1]:
                raise NothingToPatch
        return _patches(_FILE, "option file", texts, whole=manifest is not None)

    def memory(self, before: MemorySize, after: MemorySize, manifest: str | None) -> Patches | None:  # noqa: ARG002 - no unit is in the option file
        """A drop-in of the server's unit; None where no limit moves."""
        if after.limit is None:
            return None
        limits = after.limit, "infinity" if before.limit is None else before.limit
        texts = [f"[Service]\nMemoryMax={limit}\n" for limit in limits]
        return _patches(_UNIT, "systemd drop-in", (texts[0], texts[1]), whole=True)

    def roll_out(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> RollOut:  # noqa: ARG002 - it is the same for all
        """Nothing happens by itself."""
        Reach().refuse(self.name, server)
        return RollOut(
            applied=Applied.BY_HAND, how=_HOW, source="manuals of MySQL and MariaDB, Using Option Files", sure=True
        )


def _patches(file: str, form: str, texts: tuple[str, str], *, whole: bool) -> Patches:
    forward, back = (
        Patch(file=name, form=form, text=text, command=None, whole=whole)
        for name, text in ((file, texts[0]), (f"undo-{file}", texts[1]))
    )
    return Patches(forward, back)
