"""Percona's operator of MySQL: it sets the running servers, and restarts them where a key of its file goes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from advisor.contract.plan import Applied, RollOut
from advisor.contract.recommendation import Change
from advisor.plan.targets.manifest import Manifest, ObjectPatch, Place, at, json_patch
from advisor.plan.targets.operator import Operator, overridden
from advisor.plan.targets.option_block import OptionBlock
from advisor.plan.targets.target import taken_back
from exporter.server import Server

BLOCK = OptionBlock(headless=True, underscores=True)
"""As the operator reads it (pkg/mysql/config.go)."""
_LIVE_AFTER = (1, 2, 0)
"""The last crVersion that restarts for each line (pkg/controller/ps/mysql_config.go)."""
_POOL, _CHUNK = "innodb_buffer_pool_size", "innodb_buffer_pool_chunk_size"
_KEPT = "The way back leaves a new line, with the old value: when a line goes, the operator restarts all pods."
_LIVE = (
    "The operator runs SET GLOBAL on each pod, in no fixed order, once all pods run. It does not read the value back: "
    "the check does."
)
_RESTART = (
    "The operator restarts the pods one after the other, the primary last (updateStrategy SmartUpdate, the default)."
)
_OVERRIDE = "A Secret named CLUSTER-mysql wins over this line, if there is one."


@dataclass(frozen=True, slots=True)
class PerconaServer(Operator):
    """The operator of Percona Server for MySQL."""

    def way_back(
        self, owner: Manifest, place: Place, patch: ObjectPatch, changes: tuple[Change, ...], server: Server
    ) -> tuple[Manifest, ...]:
        """A line that was not there stays, with the old value: when a line goes, the operator restarts all pods."""
        text = at(owner, place) or ""
        missing = tuple(map(taken_back, BLOCK.missing(text, changes, server)))
        if not missing:
            return patch.back
        return json_patch(patch.after, {place: BLOCK.changed(text, missing, server)}).forward

    def roll_out(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> RollOut:
        """Live if crVersion is high enough, all lines are dynamic, and no key goes. Raises PlanRefused."""
        home, owner = self.home(manifest)
        text = "" if owner is None else at(owner, home.places(owner)[0]) or ""
        version = _version(at(owner, ("spec", "crVersion")))
        static = ", ".join(change.setting for change in changes if not change.dynamic)
        gone = BLOCK.names(text, server) - BLOCK.names(BLOCK.changed(text, changes, server), server)
        tuned = owner is not None and any(change.setting == _POOL for change in changes) and _POOL not in text
        reasons = []
        if version is not None and version <= _LIVE_AFTER:
            reasons.append("With this crVersion each changed line does; above 1.2.0 only one that is not dynamic.")
        if static:
            reasons.append(f"The running server does not take {static}.")
        if gone:
            reasons.append(
                f"The operator takes names with underscores only: {', '.join(sorted(gone))} is written anew."
            )
        if tuned and _CHUNK not in text:
            reasons.append(f"Its own {_CHUNK}, which it sets beside its own pool size, goes when the line comes.")
        live = not reasons and version is not None
        if not reasons and version is None:
            reasons.append("Above crVersion 1.2.0 it runs SET GLOBAL instead; give the manifest to know.")
        return self.conduct.model_copy(
            update={
                "applied": Applied.LIVE if live else Applied.RESTART,
                "how": " ".join([_LIVE if live else _RESTART, *reasons, _KEPT, _OVERRIDE]),
                "sure": version is not None,
                "overrides": overridden(self.tuning, changes),
            }
        )


def _version(written: object) -> tuple[int, ...] | None:
    numbers = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", str(written))
    return None if numbers is None else tuple(map(int, numbers.groups()))
