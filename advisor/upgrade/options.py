"""The variables that are set on a server, and those that stop the start of the new version or that it ignores. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from advisor.contract.settings import SETTINGS, SettingValue
from advisor.contract.upgrade import Blocker, Cause, NotForetold, OptionLine, UpgradeEffect, UpgradeStatement
from advisor.observe.window import Window
from advisor.upgrade.replacements import replacement_of
from exporter import knowledge, option_file
from exporter.collectors.variable_origins import VARIABLE_ORIGINS, VariableOrigins
from exporter.server import Server

OPTION_FILE, PERSISTED = "option file", "mysqld-auto.cnf"
NOT_DEFAULT = "not known; its value is not the default"
_REMOVED = frozenset[str]().union(*knowledge.REMOVED.values())
_VALIDATION: Mapping[knowledge.Family, str] = {
    "mysql": "run the new version's mysqld --validate-config with the option file",
    "mariadb": "run the new version's mariadbd --help --verbose with the option file",
}
_RELEASES: Mapping[knowledge.Family, str] = {
    "mysql": "https://dev.mysql.com/doc/mysqld-version-reference/en/options-variables.html",
    "mariadb": "https://mariadb.com/docs/server/server-management/install-and-upgrade-mariadb/upgrading/"
    "upgrading-between-major-mariadb-versions",
}


@dataclass(frozen=True, slots=True)
class ConfiguredVariable:
    """A global variable that is set other than by default.

    Attributes:
        name: As in SHOW GLOBAL VARIABLES.
        value: That the next start gives it, as the server prints it or as the option file has it; None where only the
            name is known.
        source: Where it is set, for people.
        loose: Whether its line has the prefix ``loose_``: a server without the variable ignores it.
    """

    name: str
    value: str | None
    source: str
    loose: bool = False


@dataclass(frozen=True, slots=True)
class SetVariables:
    """The variables that are set on a server.

    Attributes:
        variables: Those that are set at the new version's start too, by name.
        forgotten: Set by SET GLOBAL alone: a restart forgets the value, and the server does not tell what was there.
        unread: Includes of the option file, which were not read.
    """

    variables: Mapping[str, ConfiguredVariable]
    forgotten: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def settings(self) -> Mapping[str, SettingValue]:
        """Those of knowledge.toml whose value is known, for ``settings_of``."""
        values = {name: _value(name, variable.value) for name, variable in self.variables.items() if name in SETTINGS}
        return {name: value for name, value in values.items() if value is not None}


def configured(window: Window, after: Server, text: str | None = None) -> SetVariables | None:
    """The variables that are set, from the server itself and from an option file; None where neither tells.

    mysqld-auto.cnf wins over the command line, and that over the option file. Where nothing tells of a setting, it
    counts as set if its value is not the default: beside an option file alone, and on MySQL where a session has changed
    the setting for itself, which hides the origin of the global value.

    Args:
        window: The server as it was watched.
        after: The server with the new version, which reads groups such as [mysqld-8.4].
        text: Of the option file.

    Raises:
        ValueError: The text is not an option file.
    """
    section = window.latest[VARIABLE_ORIGINS]
    if text is None:
        return None if section is None else _merged(window, section, {}, ())
    file = option_file.read(text)
    lines = _lines(file.options, after)
    if section is None:
        return SetVariables(_not_at_default(window) | lines, (), file.includes)
    dropped = _lines(file.options, window.latest.server).keys() - lines
    told = VariableOrigins(
        {name: origin for name, origin in section.origins.items() if name not in dropped or origin != OPTION_FILE},
        section.persisted,
    )
    return _merged(window, told, lines, file.includes)


def blockers(
    window: Window, after: Server, configuration: SetVariables | None
) -> Iterator[Blocker | UpgradeEffect | NotForetold]:
    """The variables with which the new version does not start, those that it ignores, and what cannot be said of them.

    Where nothing tells what is set, a setting that only a restart changes is set where its value is not the default.
    """
    if configuration is None:
        others = _not_at_default(window).items()
        configuration = SetVariables(
            {name: variable for name, variable in others if not SETTINGS[name].dynamic_on(window.latest.server)}
        )
        yield _nothing_told(window, after)
    for _, variable in sorted(configuration.variables.items()):
        since = knowledge.refused_since(variable.name, after.family, after.version)
        if since is None and not _ignored(variable.name, after):
            continue
        replacement = _replacement(window, after, configuration, variable)
        if since is None or variable.loose or variable.source == PERSISTED:
            yield _without_effect(after, variable, replacement)
        else:
            yield Blocker(
                variable=variable.name,
                value=variable.value,
                source=variable.source,
                since=".".join(map(str, since)),
                replacement=replacement,
                references=(_RELEASES[after.family],),
            )
    yield from _not_judged(after, configuration)


def _merged(
    window: Window, section: VariableOrigins, lines: dict[str, ConfiguredVariable], includes: tuple[str, ...]
) -> SetVariables:
    running = window.latest.setting
    set_there = {
        name: ConfiguredVariable(name, running(name) if name in SETTINGS else None, origin)
        for name, origin in section.origins.items()
        if origin not in ("runtime", PERSISTED)
    }
    persisted = {name: ConfiguredVariable(name, value, PERSISTED) for name, value in section.persisted.items()}
    stronger = {name: variable for name, variable in set_there.items() if variable.source != OPTION_FILE}
    changed = {name for name, origin in section.origins.items() if origin == "runtime" and name in SETTINGS}
    hidden = set() if window.latest.server.mariadb else {n for n in changed if SETTINGS[n].entry.scope == "session"}
    by_value = {name: variable for name, variable in _not_at_default(window).items() if name in hidden}
    variables = by_value | set_there | lines | stronger | persisted
    return SetVariables(variables, tuple(sorted(changed - hidden - variables.keys())), includes)


def _lines(options: Iterable[option_file.Option], server: Server) -> dict[str, ConfiguredVariable]:
    """The variables that a server takes from an option file."""
    groups = groups_of(server)
    variables = (variable_of(option) for option in options if option.group in groups)
    return {variable.name: variable for variable in variables}


def groups_of(server: Server) -> frozenset[str]:
    """The groups of an option file that a server reads."""
    names = ("mysqld", "mariadb", "mariadbd") if server.mariadb else ("mysqld",)
    series = "{}.{}".format(*server.version)
    return frozenset({"server", *names, *(f"{name}-{series}" for name in names)})


def variable_of(option: option_file.Option) -> ConfiguredVariable:
    """A line's variable: without the prefixes that options may have (mysys/my_getopt.cc)."""
    name, value = option.name.replace("-", "_"), option.value
    loose = name.startswith("loose_")
    name = name.removeprefix("loose_")
    bare = name.removeprefix("skip_")
    if bare != name and (bare in SETTINGS or bare in _REMOVED):
        name, value = bare, "OFF"
    if value is None and name in SETTINGS:
        value = "ON"
    return ConfiguredVariable(name, value, OPTION_FILE, loose)


def _value(name: str, text: str | None) -> SettingValue | None:
    """A setting's value as people write it; a number out of its range as it is."""
    if text is None:
        return None
    setting = SETTINGS[name]
    try:
        return setting.parse(text)
    except ValueError:
        return setting.read(text)


def _not_at_default(window: Window) -> dict[str, ConfiguredVariable]:
    """The settings whose value is another than their default, where that is the same on each machine."""
    server = window.latest.server
    variables = {}
    for name, setting in SETTINGS.items():
        default = setting.entry.default.on(server.family, server.version)
        value = setting.read(window.latest.setting(name))
        if value is None or not isinstance(default, int | float | str):
            continue
        if value != default:
            variables[name] = ConfiguredVariable(name, window.latest.setting(name), NOT_DEFAULT)
    return variables


def _ignored(name: str, server: Server) -> bool:
    """Whether a version takes a removed setting's line, and does nothing with it."""
    if name not in SETTINGS or SETTINGS[name].exists_on(server):
        return False
    return SETTINGS[name].entry.ignored.on(server.family, server.version) is True


def _without_effect(after: Server, variable: ConfiguredVariable, replacement: OptionLine | None) -> UpgradeEffect:
    """A variable that stays where it is set, and does nothing any more."""
    name = variable.name
    reset = UpgradeStatement(
        sql=f"RESET PERSIST {name}", reason="after the upgrade the server does not know it any more"
    )
    return UpgradeEffect(
        cause=Cause.REMOVAL,
        name=name,
        from_=variable.value,
        summary=f"{name} is set ({variable.source}), and {after} does not know it: it starts, and ignores it",
        keep=() if replacement is None else (replacement,),
        before=(reset,) if variable.source == PERSISTED else (),
        references=(_RELEASES[after.family],),
    )


def _replacement(
    window: Window, after: Server, configuration: SetVariables, variable: ConfiguredVariable
) -> OptionLine | None:
    """The line that takes a removed variable's place; None where there is none, or that one is set already."""
    running = ((name, setting.read(window.latest.setting(name))) for name, setting in SETTINGS.items())
    settings = {name: value for name, value in running if value is not None} | dict(configuration.settings)
    line = replacement_of(variable.name, variable.value, settings, after)
    return None if line is None or line.line.partition(" = ")[0] in configuration.variables else line


def _nothing_told(window: Window, after: Server) -> NotForetold:
    outcome = window.latest.outcomes.get(VARIABLE_ORIGINS.name)
    reason = "it was recorded without the origins of its variables" if outcome is None else outcome.reason
    return NotForetold(
        what=f"which variables are set on this server, and whether {after} knows them all",
        reason=f"{reason}; a setting whose value is the default counts as not set",
        cure="give its option file: --option-file /etc/my.cnf",
    )


def _not_judged(after: Server, configuration: SetVariables) -> Iterator[NotForetold]:
    """What is set and was not judged."""
    others = sorted(name for name in configuration.variables if name not in SETTINGS and name not in _REMOVED)
    if others:
        named = ", ".join(itertools.islice(others, 5)) + (", …" if len(others) > 5 else "")
        yield NotForetold(
            what=f"whether {after} knows other variables that are set, {len(others)} in all: {named}",
            reason="only InnoDB's settings and the variables that releases are known to have removed are judged here",
            cure=_VALIDATION[after.family],
        )
    if configuration.unread:
        yield NotForetold(
            what="what further option files set",
            reason=f"includes are not followed: {', '.join(configuration.unread)}",
            cure="give one text of all of them: --option-file",
        )
    if configuration.forgotten:
        yield NotForetold(
            what=f"what the next start makes of {', '.join(configuration.forgotten)}",
            reason="SET GLOBAL changed the value: a restart forgets it, and it hides what the option file says",
            cure="give the option file: --option-file /etc/my.cnf",
        )
