"""The plan of a change: the JSON of `innodb-advisor plan --format json` and of `/advise/{fingerprint}/plan`."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from advisor.contract.recommendation import Change, Frozen, Number

TargetName = Literal[
    "cnf",
    "percona-ps",
    "percona-pxc",
    "oracle",
    "moco",
    "vitess",
    "mariadb-operator",
    "bitnami",
    "kubeblocks",
    "terraform",
    "crossplane",
    "ansible",
]
"""The owners of settings that a plan can be made for."""


class Applied(StrEnum):
    """How an owner brings a changed line to the server."""

    LIVE = "live"
    """It sets the running servers."""
    RESTART = "restart"
    """It restarts them."""
    BY_HAND = "by hand"
    """It does neither: the line counts from the next restart, and someone sets the running server."""


class Patch(Frozen):
    """A change of a file or an object, in its owner's own form."""

    file: str = Field(description="A name for the file.", examples=["patch.yaml"])
    form: str = Field(description="What the text is.", examples=["merge patch", "JSON patch", "Helm values", "HCL"])
    text: str
    command: str | None = Field(None, description="How it is applied by hand; null where it is merged into a file.")
    whole: bool = Field(
        True,
        description="False where the text is a line or a block to be put into what is there, which was not given.",
    )


class Check(Frozen):
    """A check that says whether a step is done."""

    what: str = Field(description="In words, with the value that says that it is done.")
    sql: str | None = None
    promql: str | None = None
    command: str | None = None


class Step(Frozen):
    """A step of a change. The next one begins when its check says that it is done."""

    do: str = Field(description="In words.")
    patch: Patch | None = None
    apply: tuple[str, ...] = Field((), description="SQL, where the owner leaves the running server to someone else.")
    done: Check | None = None


class MemoryPlan(Frozen):
    """What the pod, the container or the machine needs with the change."""

    used_bytes: Number | None = Field(None, description="By the server's process today.")
    limit_bytes: Number | None = Field(None, description="The limit today; null where none is seen.")
    change_bytes: Number = Field(description="By which the server's memory moves.")
    request_then: Number | None = Field(None, description="Bytes to request.")
    limit_then: Number | None = Field(None, description="Bytes of the limit.")
    reason: str = Field(description="How the figures follow, and the order of the steps.")


class ColdStart(Frozen):
    """A pool that fills again after a restart."""

    member: str = Field("", description="Whose pool; empty for the server itself.")
    dump: str = Field(description="What is loaded at the start: nothing, all of the dump, or a part.")
    pages: Number = Field(description="Pages that are read again, in total.")
    pages_low: Number
    pages_high: Number
    minutes_to_90: Number | None = Field(None, description="Until 90 % of today's hits; null where not known.")
    minutes_to_90_low: Number | None = None
    minutes_to_90_high: Number | None = None
    minutes_to_99: Number | None = None
    minutes_to_99_low: Number | None = None
    minutes_to_99_high: Number | None = None
    reads: tuple[tuple[Number, Number], ...] = Field((), description="Seconds after the start, and reads a second.")
    limited_by: str = Field(description="What the speed follows from: the disk's measured reads, or the load.")


class RollOut(Frozen):
    """How the change reaches the members."""

    applied: Applied
    how: str = Field(description="In words: what the owner does with the patch, and in which order.")
    source: str = Field(description="Where this is known from.")
    sure: bool = Field(description="False where it was inferred, or read of an old version.")
    overrides: str | None = Field(None, description="The owner's own tuning that the line takes the place of.")
    cold_starts: tuple[ColdStart, ...] = Field((), description="Of each way to restart; empty where none is needed.")
    unknown: str | None = Field(None, description="Why a cold start cannot be foretold.")


class Threshold(Frozen):
    """A limit that is watched during and after the change."""

    what: str = Field(description="A sentence.")
    promql: str | None = None


class Plan(Frozen):
    """A change, ready to be merged."""

    server: str
    fingerprint: str
    rule: str
    summary: str
    target: TargetName
    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    changes: tuple[Change, ...]
    steps: tuple[Step, ...] = Field(description="In their order.")
    undo: tuple[Step, ...] = Field(description="The way back, in its order: old values are written out.")
    memory: MemoryPlan | None = Field(None, description="Null where the change moves no memory.")
    roll_out: RollOut
    abort_when: tuple[Threshold, ...]
    done_when: tuple[Threshold, ...]
    notes: tuple[str, ...] = ()
