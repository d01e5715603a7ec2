"""Index builds under way."""

from __future__ import annotations

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy
from advisor.observe.window import Window
from advisor.overview.lacks import why
from exporter.collectors.ddl import DDL

_NO_STAGES = (
    "the consumer events_stages_current is off: UPDATE performance_schema.setup_consumers SET ENABLED = 'YES'"
    " WHERE NAME = 'events_stages_current'"
)


class Build(Frozen):
    """An ALTER TABLE or CREATE INDEX under way."""

    schema_: str | None = Field(alias="schema")
    table: str | None
    stage: str | None = Field(description="In the server's words.")
    done: Number | None = Field(description="Share of its work that is done, 0 to 1, by the server's own estimate.")
    seconds_left: Number | None = Field(description="At the pace of the last snapshots; null where nothing moved.")


def builds(window: Window) -> tuple[tuple[Build, ...] | None, str | None]:
    """The builds at the newest snapshot, and why something of them is not known; None where nothing is."""
    latest = window.latest[DDL]
    if latest is None:
        return None, why(window.latest, DDL)
    if latest.stages is None:
        return None, _NO_STAGES
    return tuple(
        Build(
            schema_=None,
            table=None,
            stage=each.name,
            done=tidy(each.completed / each.estimated) if each.estimated else None,
            seconds_left=None,
        )
        for each in latest.stages
    ), None
