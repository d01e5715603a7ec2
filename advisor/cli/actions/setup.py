"""Rules, suppressions and the server's machine, from the configuration file and the options."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

import click

from advisor.cli.options import SetupOptions
from advisor.rules import configuration
from advisor.rules.configuration import Configuration, ServerMachine
from advisor.rules.rulebook import Rulebook, builtin_directory, warn_of_unknown
from advisor.rules.suppression import Suppression

log = logging.getLogger("innodb-advisor")


@dataclass(frozen=True, slots=True)
class Setup:
    """What the configuration file and the options say together; options win over the file.

    Attributes:
        book: The rules and what is suppressed.
        machine: The server's, as far as it is configured.
    """

    book: Rulebook
    machine: ServerMachine


def load_setup(options: SetupOptions) -> Setup:
    """Read the configuration file and the rules.

    Raises:
        click.UsageError: An option has no usable value.
        FileError: A file cannot be used.
    """
    path = options.config
    found = Configuration() if path is None else configuration.load(path)
    if "" in options.suppress:
        raise click.UsageError("--suppress needs a rule or the fingerprint of a recommendation")
    if not math.isfinite(options.cores or 0.0):
        raise click.UsageError("--cores needs a number such as 8")
    given = tuple(configuration.suppression(each, "by --suppress") for each in options.suppress)

    def suppressions() -> Sequence[Suppression]:
        if path is None:
            return given
        now = configuration.load(path)
        if (now.server, now.rules) != (found.server, found.rules):
            log.warning("%s: server and rules take effect at the next start", path)
        return (*given, *now.suppress)

    book = Rulebook(builtin_directory(), options.rules or found.rules, suppressions, path)
    warn_of_unknown(book)
    machine = {"cores": options.cores, "memory": options.memory, "storage": options.storage}
    known = {name: value for name, value in machine.items() if value is not None}
    return Setup(book, found.server.model_copy(update=known))
