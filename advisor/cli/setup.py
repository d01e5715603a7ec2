"""Rules, suppressions and the server's machine, from the configuration file and the options."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

import click

from advisor.cli.options import SetupOptions
from advisor.rules import configuration
from advisor.rules.configuration import Configuration, ServerMachine, Suppression
from advisor.rules.rulebook import Rulebook, builtin_directory

log = logging.getLogger("innodb-advisor")


def load_setup(options: SetupOptions) -> tuple[Rulebook, ServerMachine]:
    """The rules with what is suppressed, and the server's machine as far as it is configured.

    Options win over the configuration file.

    Raises:
        click.UsageError: An option has no usable value.
        FileError: A file cannot be used.
    """
    path = options.config
    configured = Configuration() if path is None else configuration.load(path)
    if "" in options.suppress:
        raise click.UsageError("--suppress needs a rule or the fingerprint of a recommendation")
    if not math.isfinite(options.cores or 0.0):
        raise click.UsageError("--cores needs a number such as 8")
    suppressed = tuple(configuration.suppression(name, "by --suppress") for name in options.suppress)

    def suppressions() -> Sequence[Suppression]:
        if path is None:
            return suppressed
        latest = configuration.load(path)
        if (latest.server, latest.rules) != (configured.server, configured.rules):
            log.warning("%s: server and rules take effect at the next start", path)
        return (*suppressed, *latest.suppress)

    rules = Rulebook(builtin_directory(), options.rules or configured.rules, suppressions, path)
    machine = {"cores": options.cores, "memory": options.memory, "storage": options.storage}
    given = {name: value for name, value in machine.items() if value is not None}
    return rules, configured.server.model_copy(update=given)
