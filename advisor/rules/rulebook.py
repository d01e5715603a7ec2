"""The rules in force: the built-in ones, a user's own over them, and what the configuration suppresses."""

from __future__ import annotations

import difflib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from advisor import footprint
from advisor.files.reloading import Stamp, stamps
from advisor.files.yaml_file import FileError
from advisor.rules import check
from advisor.rules.check import Rule
from advisor.rules.suppression import Suppression

log = logging.getLogger(__name__)

Origin = Literal["built-in", "your own", "your own, over the built-in one"]


def builtin_directory() -> Path:
    """The rules that came with this installation: inside the wheel, or beside the sources."""
    installed = Path(__file__).parent.parent / "builtin_rules"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "rules"


@dataclass(frozen=True, slots=True)
class InForce:
    """What belongs together: rules by id, where each comes from, what is suppressed, and when it was read."""

    rules: tuple[Rule, ...]
    origins: Mapping[str, Origin]
    suppressions: tuple[Suppression, ...]
    loaded_at: float


class Rulebook:
    """Loaded whole, or not at all: while a file is broken, what was in force before stays.

    Attributes:
        state: What is in force; take it once where parts of it must fit together.
        problem: Why the last attempt to load it anew failed; None after one that did not.
    """

    def __init__(
        self,
        builtin: Path,
        extra: Path | None = None,
        suppressions: Callable[[], Sequence[Suppression]] = tuple,
        config: Path | None = None,
    ) -> None:
        """Load the rules.

        Args:
            builtin: A directory of rules.
            extra: Another, a user's own, such as a mounted ConfigMap; it may be empty. Its rules stand in place of
                built-in ones of the same id.
            suppressions: Reads what is suppressed. Raises FileError.
            config: The file that it reads, if any.

        Raises:
            FileError: A directory cannot be read, or anything in a file is wrong.
        """
        self._builtin, self._extra, self._suppressions, self._config = builtin, extra, suppressions, config
        self._loading = threading.Lock()
        self.problem: FileError | None = None
        self.state = self._load()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """In force, by id."""
        return self.state.rules

    @property
    def suppressions(self) -> tuple[Suppression, ...]:
        """In force."""
        return self.state.suppressions

    @property
    def loaded_at(self) -> float:
        """When what is in force was read, Unix seconds."""
        return self.state.loaded_at

    @property
    def unknown(self) -> tuple[str, ...]:
        """Rules that are suppressed, but that do not exist: misspelt, or gone with an update."""
        state = self.state
        return tuple(each.rule for each in state.suppressions if each.rule and each.rule not in state.origins)

    def origin(self, rule_id: str) -> Origin:
        """Where the rule comes from.

        Raises:
            KeyError: There is no such rule.
        """
        return self.state.origins[rule_id]

    def rule(self, rule_id: str) -> Rule | None:
        """The rule of this id."""
        return next((each for each in self.rules if each.id == rule_id), None)

    def changed(self) -> bool:
        """Whether the user's files are other ones than when they were last read, be it in vain.

        Not so the built-in rules, which change with the program.
        """
        return self._stamped() != self._stamps

    def reload(self) -> None:
        """Read the files again, and log what came of it.

        It takes a moment, and may run in another thread than those who read the rules.

        Raises:
            FileError: Anything in them is wrong; the old rules and suppressions stay in force.
        """
        with self._loading:
            try:
                self.state = self._load()
            except FileError as error:
                self.problem = error
                log.warning("not loaded, the old rules stay in force: %s", error)
                raise
            self.problem = None
        log.info("loaded %d rules and %d suppressions", len(self.rules), len(self.suppressions))
        warn_of_unknown(self)
        footprint.give_back()

    def _stamped(self) -> dict[Path, Stamp]:
        files: tuple[Path, ...] = () if self._config is None else (self._config,)
        if self._extra is not None:
            try:
                files += own_files(self._extra)
            except FileError:
                files += (self._extra,)
        return stamps(files)

    def _load(self) -> InForce:
        self._stamps = self._stamped()  # older than what is read: a change meanwhile is seen the next time
        builtin = {each.id: each for each in check.load(self._builtin)}
        own = {} if self._extra is None else {each.id: each for each in own_rules(self._extra)}
        origins: dict[str, Origin] = dict.fromkeys(builtin, "built-in")
        for rule_id in own:
            origins[rule_id] = "your own, over the built-in one" if rule_id in builtin else "your own"
        rules = builtin | own
        return InForce(
            rules=tuple(rules[rule_id] for rule_id in sorted(rules)),
            origins=origins,
            suppressions=tuple(self._suppressions()),
            loaded_at=time.time(),
        )


def warn_of_unknown(book: Rulebook) -> None:
    """Say which suppressed rules do not exist: misspelt, they would suppress nothing without a word."""
    for name in book.unknown:
        near = difflib.get_close_matches(name, [each.id for each in book.rules], n=1)
        log.warning("suppressed, but there is no such rule: %s%s", name, f"; did you mean {near[0]}?" if near else "")


def own_rules(directory: Path) -> tuple[Rule, ...]:
    """A user's rules, by id. Beside them may lie their cases, what a mounted ConfigMap hides, and anything else.

    Raises:
        FileError: The directory cannot be read, or one of its rules is wrong.
    """
    return tuple(map(check.load_file, own_files(directory)))


def own_files(directory: Path) -> tuple[Path, ...]:
    """Their files.

    Raises:
        FileError: The directory cannot be read.
    """
    return tuple(
        path
        for path in check.files(directory)
        if not path.name.startswith(".")
        and (path.is_file() or not path.exists())  # a link that leads nowhere is a mistake, a pipe would wait for ever
    )
