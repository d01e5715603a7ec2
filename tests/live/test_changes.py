"""The settings of knowledge.toml are those of real servers, which accept every change that a rule can advise, and its
rollback."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pymysql
import pytest

from advisor.advice import evaluation
from advisor.casetest import cases, execution
from advisor.contract.changes import SIZE_MAX, change_on, most_at_runtime, refuses
from advisor.contract.recommendation import Change
from advisor.contract.settings import SETTINGS, Setting, SettingValue
from advisor.rules import check
from exporter.knowledge import REMOVED, Computed, refused_since
from exporter.server import IDENTITY_SQL, Server, identify
from exporter.snapshot import Snapshot
from lab.servers import PrivateServer, datadirs, programs
from tests.waiting import wait_for

RULES = Path(__file__).parents[2] / "rules"
ER_GLOBAL_VARIABLE, ER_INCORRECT_GLOBAL_LOCAL_VAR = 1229, 1238

# Values that this machine and these small servers have room for, in place of the advised ones.
STAND_INS = {
    "innodb_buffer_pool_size": 128 << 20,  # whole chunks, and within the machine's memory
    "innodb_redo_log_capacity": 64 << 20,  # files are made as large
    "innodb_log_file_size": 64 << 20,
}
# Settings whose extremes are not tried; if only a restart applies them, only the values of rules are tried.
NOT_TRIED = {
    **dict.fromkeys(STAND_INS, "memory or files are made as large as it says"),
    "innodb_dedicated_server": "takes most of the machine's memory",
    "innodb_buffer_pool_size_max": "never less than the pool",
    "innodb_buffer_pool_instances": "one in a pool under 1 GiB, and ignored by MariaDB",
    "innodb_page_cleaners": "no more than there are instances",
    "innodb_log_files_in_group": "ignored by MariaDB",
    "innodb_log_buffer_size": "memory is allocated as large as it says",
    "innodb_doublewrite": "not every change is one at runtime",
    "innodb_checksum_algorithm": "a strict one ends the server at a page with another checksum",
    "innodb_undo_tablespaces": "fixed when the data folder is made",
    "innodb_log_file_buffering": "ON for good where the log cannot be written past the page cache",
    "innodb_linux_aio": "as the kernel and the build let it",
    "innodb_page_size": "fixed when the data folder is made",
}
# The setting that bounds another, and its value that leaves that one its whole range.
BOUNDED_BY = {
    "innodb_io_capacity": ("innodb_io_capacity_max", 2**32 - 1),
    "innodb_io_capacity_max": ("innodb_io_capacity", 100),
    "innodb_max_dirty_pages_pct": ("innodb_max_dirty_pages_pct_lwm", 0),
    "innodb_max_dirty_pages_pct_lwm": ("innodb_max_dirty_pages_pct", 99),
}
# Where some servers accept more than knowledge.toml, which has what all accept.
FURTHER = {
    "innodb_lru_scan_depth": "2^64 - 1 on MariaDB and MySQL 5.6",
    "innodb_io_capacity": "2^64 - 1 on MariaDB 10.5 and MySQL 5.6",
    "innodb_io_capacity_max": "2^64 - 1 on MariaDB 10.5 and MySQL 5.6",
    "innodb_max_dirty_pages_pct": "fractions above 99",
    "innodb_max_dirty_pages_pct_lwm": "fractions above 99",
}


class Connected:
    """A real server, its identity and its settings."""

    def __init__(self, server: PrivateServer) -> None:
        self.server = server
        self._connection = server.connect()
        self.identity: Server = identify({name.lower(): value for name, value in self.rows(IDENTITY_SQL)})

    def close(self) -> None:
        self._connection.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def error(self, sql: str) -> int | None:
        """The number of the error that a statement raises; None if it runs."""
        try:
            self.rows(sql)
        except pymysql.MySQLError as error:
            return int(error.args[0])
        return None

    def printed(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.rows("SHOW GLOBAL VARIABLES")}

    def read(self, setting: str) -> SettingValue | None:
        rows = self.rows(f"SHOW GLOBAL VARIABLES LIKE '{setting}'")
        return SETTINGS[setting].read(rows[0][1] if rows else None)

    def becomes(self, setting: str, value: SettingValue) -> bool:
        """Whether a setting has the value; a pool and a redo log are resized in the background, so wait for them."""
        if setting in STAND_INS:
            wait_for(lambda: self.read(setting) == value and not self._resizing())
        return self.read(setting) == value

    def _resizing(self) -> bool:
        """Whether the pool is being resized; until then a further change is refused with a warning."""
        return not re.match("$|Completed|Size did not change", self.resize_status())

    def resize_status(self) -> str:
        """The server's report on the last resize of the pool."""
        rows = self.rows("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'")
        return str(rows[0][1]) if rows else ""

    def set(self, setting: str, value: SettingValue) -> bool:
        """Whether the server accepts a value unchanged."""
        with suppress(pymysql.MySQLError):
            self.rows(
                f"SET GLOBAL {setting} = {value!r}" if isinstance(value, str) else f"SET GLOBAL {setting} = {value:.0f}"
            )
        return self.read(setting) == value

    @contextmanager
    def left_as_found(self) -> Iterator[None]:
        before = self.printed()
        try:
            yield
        finally:
            after = self.printed()
            changed = {
                name: value
                for name in SETTINGS
                if before.get(name) != after.get(name) and (value := SETTINGS[name].read(before[name])) is not None
            }
            for name, value in [*changed.items()] * 2:  # some are held within others
                self.set(name, value)
            assert [name for name, value in changed.items() if not self.becomes(name, value)] == []


@pytest.fixture
def connected(server: PrivateServer) -> Iterator[Connected]:
    connected = Connected(server)
    with connected.left_as_found():
        yield connected
    connected.close()


def settings_of(identity: Server, *, dynamic: bool | None = None) -> dict[str, Setting]:
    return {
        name: setting
        for name, setting in SETTINGS.items()
        if setting.exists_on(identity) and dynamic in (None, setting.dynamic_on(identity))
    }


def test_a_server_has_the_settings_of_its_version_and_no_others(connected: Connected) -> None:
    printed = connected.printed()
    assert set(settings_of(connected.identity)) == {name for name in SETTINGS if name in printed}


def test_a_server_has_the_defaults_of_its_version(connected: Connected, tmp_path: Path) -> None:
    program = programs.find(connected.server.name)
    help_ = subprocess.run(  # noqa: S603 - a program of the lab
        [*program.command, *datadirs.placement(program, tmp_path), "--verbose", "--help"],
        env={**os.environ, **program.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    defaults = dict(line.split(None, 1) for line in help_.stdout.splitlines() if len(line.split(None, 1)) == 2)
    spelled = {"TRUE": "ON", "FALSE": "OFF", "(No default value)": ""}
    checked = 0
    for name, setting in settings_of(connected.identity).items():
        default = setting.entry.default.on(connected.identity.family, connected.identity.version)
        assert default is not None, name
        if isinstance(default, Computed):
            continue
        text = defaults[name.replace("_", "-")].strip()
        assert setting.read(spelled.get(text, text)) == default, name
        checked += 1
    assert checked >= 20


def test_a_server_refuses_the_lines_of_removed_variables_and_ignores_some(connected: Connected, tmp_path: Path) -> None:
    """A server warns of a line that it would refuse, where its name begins with loose."""
    family, version = connected.identity.family, connected.identity.version
    settings = {name for name, setting in SETTINGS.items() if not setting.exists_on(connected.identity)}
    names = settings.union(*REMOVED.values())
    refused = {name for name in names if refused_since(name, family, version)}
    ignored = {name for name in settings if SETTINGS[name].entry.ignored.on(family, version)}
    unknown = unknown_to(connected.server.name, refused | ignored, tmp_path)
    assert unknown == refused


def unknown_to(name: str, variables: set[str], folder: Path) -> set[str]:
    """Those of the variables that a server program does not know."""
    program = programs.find(name)
    lines = (f"--loose-{variable.replace('_', '-')}=1" for variable in sorted(variables))
    end = ["--verbose", "--help"] if name != "mysql-9.7" else ["--log-error-verbosity=2", "--validate-config"]
    run = subprocess.run(  # noqa: S603 - a program of the lab
        [*program.command, *datadirs.placement(program, folder), *lines, *end],
        env={**os.environ, **program.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    warned = re.findall(r"unknown (?:variable|option) '(?:--)?loose-([\w-]+)", run.stdout + run.stderr)
    return {variable.replace("-", "_") for variable in warned}


def test_a_server_agrees_on_what_is_dynamic_and_what_a_session_has_of_its_own(connected: Connected) -> None:
    for name, setting in settings_of(connected.identity).items():
        error = connected.error(f"SET GLOBAL {name} = @@GLOBAL.{name}")
        assert error == (None if setting.dynamic_on(connected.identity) else ER_INCORRECT_GLOBAL_LOCAL_VAR), name
        if setting.dynamic_on(connected.identity):
            error = connected.error(f"SET SESSION {name} = @@GLOBAL.{name}")
            assert error == (None if setting.entry.scope == "session" else ER_GLOBAL_VARIABLE), name


def test_a_server_accepts_the_extremes_and_words_and_nothing_beyond(connected: Connected) -> None:
    wrong = []
    for name, setting in settings_of(connected.identity, dynamic=True).items():
        if name in NOT_TRIED:
            continue
        if name in BOUNDED_BY:
            assert connected.set(*BOUNDED_BY[name])
        least, most = setting.minimum_on(connected.identity), setting.maximum_on(connected.identity)
        accepted: list[SettingValue] = [bound for bound in (least, most) if bound is not None]
        accepted += setting.words_on(connected.identity)
        refused: list[SettingValue] = [] if setting.kind == "number" else ["nonsense"]
        refused += [] if not least else [least - 1]
        refused += [] if most is None or name in FURTHER else [most + 1]
        assert accepted
        wrong += [f"{name} = {value} is refused" for value in accepted if not connected.set(name, value)]
        wrong += [f"{name} = {value} is accepted" for value in refused if connected.set(name, value)]
    assert wrong == []


CATALOGUES = {
    "mariadb": "SELECT VARIABLE_NAME, NUMERIC_MIN_VALUE, NUMERIC_MAX_VALUE FROM information_schema.SYSTEM_VARIABLES",
    "mysql": "SELECT VARIABLE_NAME, MIN_VALUE, MAX_VALUE FROM performance_schema.variables_info",
}
"""The ranges that a server lists; MySQL before 8.0 lists none."""


def test_a_server_lists_no_narrower_range(connected: Connected) -> None:
    """Also of settings whose extremes are not tried."""
    if not (connected.identity.mariadb or connected.identity.data_dictionary):
        pytest.skip("lists no ranges")
    listed = {name.lower(): bounds for name, *bounds in connected.rows(CATALOGUES[connected.identity.family])}
    narrower = []
    for name, setting in settings_of(connected.identity).items():
        if setting.kind == "number":
            low, high = map(float, listed[name])
            least, most = setting.minimum_on(connected.identity), setting.maximum_on(connected.identity)
            if least is None or least < low or (most is not None and most > high):
                narrower.append(f"{name}: {low:.0f} to {high:.0f}")
    assert narrower == []


# --- What the rules advise ---


Advised = tuple[Snapshot, tuple[Change, ...]]


@functools.cache
def advised() -> list[Advised]:
    """The changes of every finding of every case of every rule, and each alternative, once; and to whom."""
    changes_by_value: dict[tuple[tuple[str, object], ...], Advised] = {}
    for rule in check.load(RULES):
        patient = rule.with_budget(execution.BUDGET_SECONDS)
        for case in (case for case in cases.load(rule) if case.expect):
            window = execution.window(case)
            for finding in evaluation.advise([patient], window).recommendations:
                for changes in (finding.changes, *((other.change,) for other in finding.alternatives)):
                    if changes:
                        changes_by_value[tuple((change.setting, change.to) for change in changes)] = (
                            window.latest,
                            changes,
                        )
    assert changes_by_value
    return list(changes_by_value.values())


def possible(connected: Connected, changes: tuple[Change, ...]) -> Iterator[Change]:
    """The same changes on this server, with STAND_INS."""
    for change in changes:
        name, to = change.setting, change.to
        value = STAND_INS.get(name, to)
        if refuses(connected.identity, name, value) is None:
            yield made(connected, name, value)


def made(connected: Connected, name: str, value: SettingValue) -> Change:
    most = most_at_runtime(name, connected.read(SIZE_MAX))
    return change_on(connected.identity, name, connected.read(name), value, most)


def test_a_change_fits_the_server_that_it_is_advised_for() -> None:
    for latest, changes in advised():
        for change in changes:
            before = SETTINGS[change.setting].read(latest.setting(change.setting))
            most = most_at_runtime(change.setting, latest.setting(SIZE_MAX))
            assert refuses(latest.server, change.setting, change.to) is None
            assert change == change_on(latest.server, change.setting, before, change.to, most)


def test_a_server_accepts_every_advised_change_and_its_rollback(connected: Connected) -> None:
    tried: set[tuple[tuple[str, SettingValue], ...]] = set()
    for _, changes in advised():
        for change in changes:  # advised for a server with room for them
            if change.setting in BOUNDED_BY and connected.read(change.setting) is not None:
                connected.set(*BOUNDED_BY[change.setting])
        dynamic = [change for change in possible(connected, changes) if change.dynamic]
        values = tuple((change.setting, change.to) for change in dynamic)
        if values in tried:  # STAND_INS make some alike
            continue
        tried.add(values)
        for change in dynamic:
            assert change.from_ is not None
            for statement in change.apply:
                connected.rows(statement)
            assert connected.becomes(change.setting, change.to), (change, connected.resize_status())
            persist(connected, change)
            # SET PERSIST wakes what resizes the pool, too. A change that comes before that has looked is lost (3 of 300
            # on a busy MySQL 9.7.4: "Size did not change"), and none was that waited.
            assert connected.becomes(change.setting, change.to), (change, connected.resize_status())
        for change in reversed(dynamic):
            assert change.from_ is not None
            for statement in change.rollback:
                connected.rows(statement)
            assert connected.becomes(change.setting, change.from_), (change, connected.resize_status())
    assert any(tried)


def persist(connected: Connected, change: Change) -> None:
    entry = SETTINGS[change.setting].entry
    assert bool(change.persist) == (connected.identity.set_persist and entry.persisted), change
    for statement in change.persist:
        connected.rows(statement)
        persisted = dict(
            connected.rows("SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.persisted_variables")
        )
        connected.rows(f"RESET PERSIST {change.setting}")
        assert SETTINGS[change.setting].read(persisted[change.setting]) == change.to, change


def test_a_server_persists_what_only_a_restart_applies(connected: Connected) -> None:
    """Every such setting, by SET PERSIST_ONLY; a server refuses those that knowledge.toml has as not persisted."""
    for name, setting in settings_of(connected.identity, dynamic=False).items():
        change = made(connected, name, another(connected, name))
        assert (change.dynamic, change.apply) == (False, ()), name
        persist(connected, change)
        for statement in change.rollback:
            connected.rows(statement)
            connected.rows(f"RESET PERSIST {name}")
        if connected.identity.set_persist and not setting.entry.persisted:
            assert connected.error(f"SET PERSIST_ONLY {name} = DEFAULT") == ER_INCORRECT_GLOBAL_LOCAL_VAR, name


@pytest.mark.parametrize("name", programs.NAMES)
def test_an_option_file_sets_what_only_a_restart_applies(start_server: Callable[..., PrivateServer], name: str) -> None:
    """All such settings at once, at the rules' values if there are any; one start for each value."""
    server = start_server(name)
    connected = Connected(server)
    lines: dict[str, dict[str, Change]] = {}
    for _, changes in advised():
        for change in possible(connected, changes):
            if not change.dynamic:
                lines.setdefault(change.setting, {})[change.config] = change
    for setting in settings_of(connected.identity, dynamic=False):
        if setting not in lines and setting not in NOT_TRIED:
            lines[setting] = {"": made(connected, setting, another(connected, setting))}
    connected.close()
    for together in zip_longest(*(line.values() for line in lines.values())):
        changes_together = {change.setting: change for change in together if change is not None}
        server.restart(dict(change.config.split(" = ", 1) for change in changes_together.values()))
        restarted = Connected(server)
        assert {setting: restarted.read(setting) for setting in changes_together} == {
            setting: change.to for setting, change in changes_together.items()
        }
        restarted.close()


def another(connected: Connected, name: str) -> SettingValue:
    """A value other than the current one."""
    setting, current = SETTINGS[name], connected.read(name)
    least = setting.minimum_on(connected.identity) or 0
    choices: tuple[SettingValue, ...] = (*setting.words_on(connected.identity), least, 2 * least or 2)
    return next(choice for choice in choices if choice != current)
