"""The rules in force: the built-in ones, a user's own over them, and what the configuration suppresses."""

from __future__ import annotations

import asyncio
import difflib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from advisor.files.reloading import Reloader, Watch
from advisor.files.yaml_file import FileError
from advisor.rules import check
from advisor.rules.check import Rule
from advisor.rules.configuration import Suppression

log = logging.getLogger(__name__)

_PACKAGE = Path(__file__).parents[1]
LOOK_SECONDS = 10.0
"""Time between two looks at the files."""
Origin = Literal["built-in", "your own", "your own, over the built-in one"]


def installed(inside: str, beside: str) -> Path:
    """A file or a folder that comes with this installation: inside the wheel, or beside the sources.

    Args:
        inside: Its path in the wheel, in the folder of the package ``advisor`` (pyproject.toml: force-include).
        beside: Its path in the repository.
    """
    path = _PACKAGE / inside
    return path if path.exists() else _PACKAGE.parent / beside


def builtin_directory() -> Path:
    """The rules that came with this installation."""
    return installed("builtin_rules", "rules")


def builtin_ids() -> frozenset[str]:
    """The ids of the rules that came with this installation."""
    return frozenset(path.stem for path in check.files(builtin_directory()))


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Rules that were loaded together, with the suppressions.

    Attributes:
        rules: In the order of their ids.
        origins: By rule id.
        loaded_at: Unix seconds.
    """

    rules: tuple[Rule, ...]
    origins: Mapping[str, Origin]
    suppressions: tuple[Suppression, ...]
    loaded_at: float

    def rule(self, rule_id: str) -> Rule | None:
        """The rule of this id."""
        return next((rule for rule in self.rules if rule.id == rule_id), None)


class Rulebook(Reloader[RuleSet]):
    """The rule set in force. It is loaded whole, or not at all: while a file is broken, the old one stays."""

    def __init__(
        self,
        builtin: Path,
        extra: Path | None = None,
        suppressions: Callable[[], Sequence[Suppression]] = tuple,
        config: Path | None = None,
    ) -> None:
        """Load the rules.

        Args:
            builtin: A directory of rules. They are loaded once: they change with the program.
            extra: A directory of the user's own rules, such as a mounted ConfigMap; it may be empty. A rule in it
                replaces the built-in rule of the same id.
            suppressions: Reads the suppressions. Raises FileError.
            config: The file that ``suppressions`` reads, if any.

        Raises:
            FileError: A directory cannot be read, or anything in a file is wrong.
        """
        self._builtin = {rule.id: rule for rule in check.load(builtin)}
        self._extra, self._suppressions, self._config = extra, suppressions, config
        super().__init__(
            self._rule_set,
            refused="not loaded, the old rules stay in force",
            loaded=lambda now: f"loaded {len(now.rules)} rules and {len(now.suppressions)} suppressions",
        )

    @property
    def rule_set(self) -> RuleSet:
        """The rule set in force. Take it once where its parts must fit together."""
        return self.content

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules in force, in the order of their ids."""
        return self.content.rules

    async def run(self) -> None:
        """Load the files again when they change, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await asyncio.to_thread(self.refresh)
            except Exception:  # the next look may succeed
                log.exception("cannot tell whether the rules have changed")

    def _rule_set(self, watch: Watch) -> RuleSet:
        watch(self._own_files)
        own = {} if self._extra is None else {rule.id: rule for rule in check.load(self._extra)}
        origins: dict[str, Origin] = dict.fromkeys(self._builtin, "built-in")
        for rule_id in own:
            origins[rule_id] = "your own, over the built-in one" if rule_id in self._builtin else "your own"
        rules = self._builtin | own
        rule_set = RuleSet(
            rules=tuple(rules[rule_id] for rule_id in sorted(rules)),
            origins=origins,
            suppressions=tuple(self._suppressions()),
            loaded_at=time.time(),
        )
        _warn_of_unknown(rule_set)
        return rule_set

    def _own_files(self) -> tuple[Path, ...]:
        """The user's files, or the directory of rules where it cannot be listed."""
        files: tuple[Path, ...] = () if self._config is None else (self._config,)
        if self._extra is None:
            return files
        try:
            return (*files, *check.files(self._extra))
        except FileError:
            return (*files, self._extra)


def _warn_of_unknown(rule_set: RuleSet) -> None:
    """Warn of suppressed ids that no rule has, misspelt or removed by an update: they suppress nothing."""
    for rule_id in (suppression.rule for suppression in rule_set.suppressions):
        if rule_id and rule_id not in rule_set.origins:
            near = difflib.get_close_matches(rule_id, rule_set.origins, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            log.warning("suppressed, but there is no such rule: %s%s", rule_id, hint)
