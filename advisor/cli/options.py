"""Options that several commands share, and the objects that commands get from them."""

from __future__ import annotations

import functools
import logging
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from advisor.cli.parameters import duration, interval, rate
from advisor.files.quantities import size
from advisor.observe.limits import MAY_READ

if TYPE_CHECKING:  # --help needs no pydantic
    from advisor.rules.configuration import Configuration, ServerMachine, Suppression
    from advisor.rules.rulebook import Rulebook
    from exporter.connection.target import Target

log = logging.getLogger("innodb-advisor")

DSN_VARIABLE = "INNODB_ADVISOR_DSN"
CONFIG_VARIABLE = "INNODB_ADVISOR_CONFIG"
RULES_VARIABLE = "INNODB_ADVISOR_RULES"
STATE_VARIABLE = "INNODB_ADVISOR_STATE_DIR"
SEVERITIES = ("info", "warning", "critical")
FAILURES = ("missed", "harm")
"""Of outcomes, for --fail-on."""

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Either a recording or a server.

    Attributes:
        recording: The file.
        target: Reads where the server is and who logs in; reads the files again each time, for passwords change.
    """

    recording: Path | None
    target: Callable[[], Target] | None

    @property
    def server(self) -> Callable[[], Target]:
        """The server, where there is no recording."""
        assert self.target is not None  # noqa: S101 - ``named_source`` sets one of the two
        return self.target

    @property
    def state_address(self) -> str:
        """The address by which --state-dir tells servers apart.

        Raises:
            click.UsageError: There is a recording in place of a server.
        """
        if self.recording:
            raise click.UsageError("--state-dir needs a server, not a recording")
        return self.server().address


@dataclass(frozen=True, slots=True)
class SetupOptions:
    """Rules, suppressions and the server's machine, as the options name them.

    Attributes:
        config: The configuration file.
        rules: A directory of rules.
        suppress: Rules and fingerprints.
        cores, memory, storage: The server's machine; memory in bytes.
        may_read: Pages a second that a smaller buffer pool may read more.
    """

    config: Path | None
    rules: Path | None
    suppress: tuple[str, ...] = ()
    cores: float | None = None
    memory: int | None = None
    storage: Literal["ssd", "hdd"] | None = None
    may_read: float = MAY_READ

    def load(self) -> tuple[Rulebook, ServerMachine]:
        """The rules with what is suppressed, and the server's machine; options win over the configuration file.

        Raises:
            click.UsageError: An option has no usable value.
            FileError: A file cannot be used.
        """
        from advisor.rules import configuration
        from advisor.rules.rulebook import Rulebook, builtin_directory

        configured = configuration.Configuration() if self.config is None else configuration.load(self.config)
        if "" in self.suppress:
            raise click.UsageError("--suppress needs a rule or the fingerprint of a recommendation")
        if not math.isfinite(self.cores or 0.0):
            raise click.UsageError("--cores needs a number such as 8")
        suppressions = functools.partial(self._suppressions, configured)
        rules = Rulebook(builtin_directory(), self.rules or configured.rules, suppressions, self.config)
        machine = {"cores": self.cores, "memory": self.memory, "storage": self.storage}
        options = {name: value for name, value in machine.items() if value is not None}
        return rules, configured.server.model_copy(update=options)

    def _suppressions(self, at_start: Configuration) -> Sequence[Suppression]:
        """Those of the options, and of the configuration file as it is now."""
        from advisor.rules import configuration

        suppressed = tuple(configuration.suppression(name, "by --suppress") for name in self.suppress)
        if self.config is None:
            return suppressed
        latest = configuration.load(self.config)
        if (latest.server, latest.rules) != (at_start.server, at_start.rules):
            log.warning("%s: server and rules take effect at the next start", self.config)
        return (*suppressed, *latest.suppress)


def on_command_line(name: str) -> bool:
    """Whether an option was given; the environment may give it for other commands."""
    return click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE


def option_group(name: str, collect: Callable[..., object], *options: Decorator) -> Decorator:
    """Options that belong together: the command gets the object that ``collect`` makes of them, as ``name``."""
    parameters = [parameter.name for parameter in click.command()(options_of(*options)(lambda: None)).params]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_group(**values: Any) -> Any:
            group = {parameter: values.pop(parameter) for parameter in parameters}
            return command(**values, **{name: collect(**group)})

        return options_of(*options)(with_group)

    return decorate


def options_of(*options: Decorator) -> Decorator:
    """Several options as one decorator, in their order in --help."""
    return lambda command: functools.reduce(lambda decorated, option: option(decorated), reversed(options), command)


_SERVER = (
    click.option(
        "--dsn",
        metavar="URL",
        help=f"mysql://user@host:port, or mysql://user@/?socket=/path; also ${DSN_VARIABLE}.",
    ),
    click.option(
        "--defaults-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="An option file with a [client] section, as mysqld_exporter reads it.",
    ),
    click.option(
        "--password-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A file that holds the password. $INNODB_ADVISOR_PASSWORD or the defaults file may hold it instead.",
    ),
)


def named_server(
    dsn: str | None, defaults_file: Path | None, password_file: Path | None, *, otherwise: str = ""
) -> SourceOptions:
    """The server that the options name.

    Raises:
        click.UsageError: They name none.
        TargetError: One of them cannot be used.
    """
    from exporter.connection.target import resolve

    dsn = dsn or os.environ.get(DSN_VARIABLE) or None
    if dsn is None and defaults_file is None:
        raise click.UsageError(
            f"name a server with --dsn mysql://user@host:port (or ${DSN_VARIABLE}) or --defaults-file{otherwise}"
        )
    target = functools.partial(resolve, dsn, defaults_file, password_file, dict(os.environ))
    target().tls()  # report an unusable file at the start
    return SourceOptions(None, target)


def named_source(
    dsn: str | None, defaults_file: Path | None, password_file: Path | None, recording: Path | None
) -> SourceOptions:
    """The server or the recording that the options name. Raises as ``named_server`` does."""
    if recording is None:
        return named_server(dsn, defaults_file, password_file, otherwise=", or a file with --recording")
    if dsn or defaults_file or password_file:
        raise click.UsageError("--recording stands alone: it replaces the server")
    return SourceOptions(recording, None)


server_options = option_group("where", named_server, *_SERVER)
_SOURCE = (
    *_SERVER,
    click.option(
        "--recording",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Read a recording made by `record` instead of a server.",
    ),
)
where_options = option_group("where", named_source, *_SOURCE)
optional_where_options = option_group("where", lambda **options: functools.partial(named_source, **options), *_SOURCE)
"""``where`` is a call, which raises as ``named_source`` does: another option may stand in for the server."""

_RULES = (
    click.option(
        "--config",
        type=click.Path(path_type=Path),
        envvar=CONFIG_VARIABLE,
        metavar="FILE",
        help=f"A configuration file (YAML: server, suppress, rules); also ${CONFIG_VARIABLE}. Options win over it.",
    ),
    click.option(
        "--rules",
        type=click.Path(path_type=Path),
        envvar=RULES_VARIABLE,
        metavar="DIR",
        help=f"Your own rules, added to the built-in ones; also ${RULES_VARIABLE}. A rule with a built-in id "
        "replaces that one.",
    ),
)


_MACHINE = (
    click.option(
        "--cores",
        type=click.FloatRange(min=0, min_open=True),
        metavar="NUMBER",
        help="Cores of the server's machine or container, where the sidecar cannot see them.",
    ),
    click.option(
        "--memory",
        type=size,
        metavar="SIZE",
        help="Memory of the server's machine or container, such as 16G.",
    ),
    click.option(
        "--storage",
        type=click.Choice(["ssd", "hdd"]),
        help="Storage of the server's data directory.",
    ),
)


rules_options = option_group("setup", SetupOptions, *_RULES)
rules_and_machine_options = option_group("setup", SetupOptions, *_RULES, *_MACHINE)
"""Without what is about findings alone."""
setup_options = option_group(
    "setup",
    SetupOptions,
    *_RULES,
    click.option(
        "--suppress",
        multiple=True,
        metavar="ID",
        help="Suppress a rule, or one recommendation by its fingerprint; may be repeated.",
    ),
    *_MACHINE,
    click.option(
        "--may-read",
        type=rate,
        default=f"{MAY_READ:g}/s",
        show_default=True,
        metavar="PAGES/s",
        help="Pages that may be read more, in any hour, where buffer-pool-larger-than-needed advises a smaller pool.",
    ),
)


def state_option(purpose: str) -> Decorator:
    """--state-dir."""
    return click.option(
        "--state-dir",
        type=click.Path(file_okay=False, path_type=Path),
        envvar=STATE_VARIABLE,
        metavar="DIR",
        help=f"{purpose}; also ${STATE_VARIABLE}.",
    )


def format_option(*styles: str, explanation: str | None = None) -> Decorator:
    """--format: ``style``; the first one is the default."""
    return click.option(
        "--format", "style", type=click.Choice(styles), default=styles[0], show_default=True, help=explanation
    )


def fail_on_option(words: Sequence[str], reason: str) -> Decorator:
    """--fail-on."""
    return click.option("--fail-on", type=click.Choice(words), help=f"Exit with 1 when {reason}.")


watch_options = options_of(
    click.option("--watch", type=duration, default="60s", show_default=True, help="How long to watch a server."),
    click.option(
        "--interval",
        type=interval,
        default=None,
        help="Time between two collections; by default a sixth of --watch, at most 10s.",
    ),
)
recording_output_option = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The file for JSON lines; compressed where its name ends in .gz.",
)
output_option = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to this file instead of standard output.",
)
