"""The facts that rules may name, computed from a window. A fact that is None is not known.

The fields of these classes are the names in rule expressions: ``pool.free_pages``, ``scan.passes``. Each field says its
type, unit and meaning. Numbers are floats (CEL doubles). One file holds one subject.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property
from typing import Any, get_type_hints

from advisor.contract.settings import SETTINGS, Setting, SettingValue
from advisor.facts.base import Fact, facts_in, values_by_name
from advisor.facts.beyond_window import Choice, HarmFacts, SpareFacts
from advisor.facts.blind_spots import BlindSpotFacts, blind_spots
from advisor.facts.change_buffer import ChangeBufferFacts, change_buffer
from advisor.facts.counts import CountFacts, counts
from advisor.facts.ddl import DdlFacts, ddl
from advisor.facts.io import IoFacts, io
from advisor.facts.machine import MachineFacts, machine
from advisor.facts.parallel import ParallelFacts, ParallelReadFacts, parallel, parallel_reads
from advisor.facts.pool import PoolFacts, pool
from advisor.facts.scans import ScanFacts, scans
from advisor.facts.server import ServerFacts, WindowFacts, server
from advisor.facts.statistics import StatisticsFacts, statistics
from advisor.observe.window import Window

__all__ = [
    "CHOICE",
    "GROUPS",
    "LISTS",
    "LIST_SECTIONS",
    "SETTING_FACTS",
    "Choice",
    "Fact",
    "Facts",
    "ScanFacts",
    "facts",
    "facts_in",
    "names",
    "values_by_name",
]


@dataclass(frozen=True)
class Facts:
    """All facts of a window; ``setting`` by name, the lists by the name that ``for_each`` takes."""

    window: WindowFacts
    setting: dict[str, SettingValue | None]
    server: ServerFacts
    machine: MachineFacts
    pool: PoolFacts
    ibuf: ChangeBufferFacts
    io: IoFacts
    parallel: ParallelFacts
    ddl: DdlFacts
    spare: SpareFacts
    lists: dict[str, Sequence[Any]] = field(default_factory=dict)

    @cached_property
    def values(self) -> Mapping[str, float | str | bool | None]:
        """All but the lists, by their names in expressions: the same for every rule and item."""
        values: dict[str, float | str | bool | None] = {
            f"setting.{name}": value for name, value in self.setting.items()
        }
        for group in GROUPS:
            values |= values_by_name(group, getattr(self, group))
        return values


GROUPS: dict[str, type] = {
    name: shape for name, shape in get_type_hints(Facts).items() if isinstance(shape, type) and is_dataclass(shape)
}
"""The facts that every rule may name: by what their names begin with."""
LISTS: dict[str, tuple[str, type]] = {
    "scans": ("scan", ScanFacts),
    "counted": ("counted", CountFacts),
    "parallel_reads": ("read", ParallelReadFacts),
    "statistics": ("statistic", StatisticsFacts),
    "blind_spots": ("blind_spot", BlindSpotFacts),
    "harms": ("harm", HarmFacts),
}
"""What ``for_each`` may name: the name of one item in expressions, and its class."""
LIST_SECTIONS: dict[str, tuple[str, ...]] = {
    "scans": ("index_sizes", "table_scans", "count_statements"),
    "counted": ("count_statements",),
    "parallel_reads": ("variables", "index_sizes", "table_scans", "count_statements"),
    "statistics": (),
    "blind_spots": (),
    "harms": (),
}
"""The sections that show the items of a list: without one of them items may be missing from it."""
CHOICE = "choice"
"""What the names of a model's choice begin with, in rules with ``choose``."""


def _meaning(setting: Setting) -> str:
    if setting.kind == "number":
        return setting.unit or "a whole number"
    return ", ".join(f"`{word}`" for word in setting.words_on(None)) or "a text"


SETTING_FACTS = tuple(
    Fact(f"setting.{name}", float if setting.kind == "number" else str, _meaning(setting))
    for name, setting in SETTINGS.items()
)
"""Every known setting, with its unit or its words."""


def names(for_each: str | None, *, choose: bool) -> dict[str, Fact]:
    """The names that a rule's expressions may use.

    Args:
        for_each: The list on whose items the rule works.
        choose: Whether a model chooses a value for the rule.

    Raises:
        KeyError: There is no such list.
    """
    shapes = [*GROUPS.items(), *([LISTS[for_each]] if for_each else []), *([(CHOICE, Choice)] if choose else [])]
    in_groups = (fact for group, shape in shapes for fact in facts_in(group, shape))
    return {fact.name: fact for fact in (*SETTING_FACTS, *in_groups)}


def facts(
    window: Window,
    needed_by: Mapping[str, Sequence[str]] | None = None,
    spare: SpareFacts | None = None,
    harms: Sequence[HarmFacts] = (),
) -> Facts:
    """The facts of a window.

    Args:
        window: What has been watched.
        needed_by: By section of a snapshot, the rules that need it.
        spare: From the memory of days, where one is kept.
        harms: From the ledger, where one is kept.
    """
    latest, scanned, here = window.latest, scans(window), machine(window)
    return Facts(
        window=WindowFacts(window.seconds, float(len(window.snapshots))),
        setting={name: setting.read(latest.setting(name)) for name, setting in SETTINGS.items()},
        server=server(window),
        machine=here,
        pool=pool(window, scanned),
        ibuf=change_buffer(window),
        io=io(window),
        parallel=parallel(window),
        ddl=ddl(window),
        spare=spare or SpareFacts(),
        lists={
            "scans": scanned,
            "counted": counts(window),
            "parallel_reads": parallel_reads(window, scanned, here),
            "statistics": statistics(window),
            "blind_spots": blind_spots(window, needed_by or {}),
            "harms": harms,
        },
    )
