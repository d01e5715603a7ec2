"""What knowledge.toml says of settings is what real servers say and do, and every change that the rules can advise is
one that they take as it stands and take back."""

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
from exporter.knowledge import COMPUTED
from exporter.server import IDENTITY_SQL, Server, identify
from exporter.snapshot import Snapshot
from lab.servers import PrivateServer, datadirs, programs
from tests.waiting import wait_for

RULES = Path(__file__).parents[2] / "rules"
ER_GLOBAL_VARIABLE, ER_INCORRECT_GLOBAL_LOCAL_VAR = 1229, 1238

# What is not tried as it is advised, but with a value that this machine and these small servers have room for.
STAND_INS = {
    "innodb_buffer_pool_size": 128 << 20,  # whole chunks, and within the machine's memory
    "innodb_redo_log_capacity": 64 << 20,  # files are made as large
    "innodb_log_file_size": 64 << 20,
}
# Settings whose extremes are not tried, and whose values only a restart applies are not tried unless a rule has some.
NOT_TRIED = {
    **dict.fromkeys(STAND_INS, "memory or files are made as large as it says"),
    "innodb_dedicated_server": "takes most of the machine's memory",
    "innodb_buffer_pool_size_max": "never less than the pool",
    "innodb_buffer_pool_instances": "one in a pool under 1 GiB, and ignored by MariaDB",
    "innodb_page_cleaners": "no more than there are instances",
    "innodb_log_files_in_group": "ignored by MariaDB",
    "innodb_page_size": "fixed when the data folder is made",
}
# What a value is held within by another setting, and what that one has to be for all to be taken.
BOUNDED_BY = {
    "innodb_io_capacity": ("innodb_io_capacity_max", 2**32 - 1),
    "innodb_io_capacity_max": ("innodb_io_capacity", 100),
    "innodb_max_dirty_pages_pct": ("innodb_max_dirty_pages_pct_lwm", 0),
    "innodb_max_dirty_pages_pct_lwm": ("innodb_max_dirty_pages_pct", 99),
}
# Where servers go further than knowledge.toml, which says what every version takes.
FURTHER = {
    "innodb_lru_scan_depth": "2^64 - 1 on MariaDB and MySQL 5.6",
    "innodb_io_capacity": "2^64 - 1 on MariaDB 10.5 and MySQL 5.6",
    "innodb_io_capacity_max": "2^64 - 1 on MariaDB 10.5 and MySQL 5.6",
    "innodb_max_dirty_pages_pct": "fractions above 99",
    "innodb_max_dirty_pages_pct_lwm": "fractions above 99",
}


class Connected:
    """A real server, what the advisor takes it for, and its settings."""

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
        """The number of the error that a statement raises; None where it runs."""
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
        """Whether a setting has that value at once; for a pool and a redo log, which take their time, wait for it."""
        if setting in STAND_INS:
            wait_for(lambda: self.read(setting) == value and not self._resizing())
        return self.read(setting) == value

    def _resizing(self) -> bool:
        """Whether the pool is; a further change before it is over would be refused with a warning."""
        return not re.match("$|Completed|Size did not change", self.resize_status())

    def resize_status(self) -> str:
        """What the server says of the pool's last change of size."""
        rows = self.rows("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_resize_status'")
        return str(rows[0][1]) if rows else ""

    def set(self, setting: str, value: SettingValue) -> bool:
        """Whether the server takes a value as it stands."""
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


def those_of(identity: Server, *, dynamic: bool | None = None) -> dict[str, Setting]:
    return {
        name: setting
        for name, setting in SETTINGS.items()
        if setting.exists_on(identity) and dynamic in (None, setting.dynamic_on(identity))
    }


def test_a_server_has_the_settings_that_its_version_is_said_to_have(connected: Connected) -> None:
    printed = connected.printed()
    assert set(those_of(connected.identity)) == {name for name in SETTINGS if name in printed}


def test_a_server_has_the_defaults_that_its_version_is_said_to_have(connected: Connected, tmp_path: Path) -> None:
    program = programs.find(connected.server.name)
    ran = subprocess.run(  # noqa: S603 - a program of the lab
        [*program.command, *datadirs.placement(program, tmp_path), "--verbose", "--help"],
        env={**os.environ, **program.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    helped = dict(line.split(None, 1) for line in ran.stdout.splitlines() if len(line.split(None, 1)) == 2)
    spelled = {"TRUE": "ON", "FALSE": "OFF", "(No default value)": ""}
    checked = 0
    for name, setting in those_of(connected.identity).items():
        default = setting.entry.default.on(connected.identity.family, connected.identity.version)
        assert default is not None, name
        if default == COMPUTED:
            continue
        text = helped[name.replace("_", "-")].strip()
        assert setting.read(spelled.get(text, text)) == default, name
        checked += 1
    assert checked >= 20


def test_a_server_agrees_on_what_is_dynamic_and_what_a_session_has_of_its_own(connected: Connected) -> None:
    for name, setting in those_of(connected.identity).items():
        error = connected.error(f"SET GLOBAL {name} = @@GLOBAL.{name}")
        assert error == (None if setting.dynamic_on(connected.identity) else ER_INCORRECT_GLOBAL_LOCAL_VAR), name
        if setting.dynamic_on(connected.identity):
            error = connected.error(f"SET SESSION {name} = @@GLOBAL.{name}")
            assert error == (None if setting.entry.scope == "session" else ER_GLOBAL_VARIABLE), name


def test_a_server_takes_the_extremes_and_words_and_nothing_beyond(connected: Connected) -> None:
    wrong = []
    for name, setting in those_of(connected.identity, dynamic=True).items():
        if name in NOT_TRIED:
            continue
        if name in BOUNDED_BY:
            assert connected.set(*BOUNDED_BY[name])
        least, most = setting.minimum_on(connected.identity), setting.maximum_on(connected.identity)
        taken: list[SettingValue] = [bound for bound in (least, most) if bound is not None]
        taken += setting.words_on(connected.identity)
        refused: list[SettingValue] = [] if setting.kind == "number" else ["nonsense"]
        refused += [] if not least else [least - 1]
        refused += [] if most is None or name in FURTHER else [most + 1]
        assert taken
        wrong += [f"{name} = {value} is not taken" for value in taken if not connected.set(name, value)]
        wrong += [f"{name} = {value} is taken" for value in refused if connected.set(name, value)]
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
    for name, setting in those_of(connected.identity).items():
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
    """Changes from what this server has to the same values, or to what stands in for large ones."""
    for change in changes:
        name, to = change.setting, change.to
        value = STAND_INS.get(name, to)
        if refuses(connected.identity, name, value) is None:
            yield made(connected, name, value)


def made(connected: Connected, name: str, value: SettingValue) -> Change:
    most = most_at_runtime(name, connected.read(SIZE_MAX))
    return change_on(connected.identity, name, connected.read(name), value, most)


def test_what_is_advised_is_made_for_the_server_that_it_is_advised_to() -> None:
    for latest, changes in advised():
        for change in changes:
            before = SETTINGS[change.setting].read(latest.setting(change.setting))
            most = most_at_runtime(change.setting, latest.setting(SIZE_MAX))
            assert refuses(latest.server, change.setting, change.to) is None
            assert change == change_on(latest.server, change.setting, before, change.to, most)


def test_every_change_that_the_rules_advise_is_taken_and_taken_back(connected: Connected) -> None:
    tried: set[tuple[tuple[str, SettingValue], ...]] = set()
    for _, changes in advised():
        for change in changes:  # they are advised where there is room for them, which this server may not have
            if change.setting in BOUNDED_BY and connected.read(change.setting) is not None:
                connected.set(*BOUNDED_BY[change.setting])
        those = [change for change in possible(connected, changes) if change.dynamic]
        values = tuple((change.setting, change.to) for change in those)
        if values in tried:  # as with what stands in for large ones
            continue
        tried.add(values)
        for change in those:
            assert change.from_ is not None
            for statement in change.apply:
                connected.rows(statement)
            assert connected.becomes(change.setting, change.to), (change, connected.resize_status())
            persist(connected, change)
            # SET PERSIST wakes what resizes the pool, too. A change that comes before that has looked is lost (3 of 300
            # on a busy MySQL 9.7.4: "Size did not change"), and none was that waited.
            assert connected.becomes(change.setting, change.to), (change, connected.resize_status())
        for change in reversed(those):
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


def test_what_only_a_restart_applies_is_kept_for_it_where_that_can_be(connected: Connected) -> None:
    """With SET PERSIST_ONLY; not only what rules advise today, and what cannot be persisted is not said to be."""
    for name, setting in those_of(connected.identity, dynamic=False).items():
        change = made(connected, name, another(connected, name))
        assert (change.dynamic, change.apply) == (False, ()), name
        persist(connected, change)
        for statement in change.rollback:
            connected.rows(statement)
            connected.rows(f"RESET PERSIST {name}")
        if connected.identity.set_persist and not setting.entry.persisted:
            assert connected.error(f"SET PERSIST_ONLY {name} = DEFAULT") == ER_INCORRECT_GLOBAL_LOCAL_VAR, name


@pytest.mark.parametrize("name", programs.NAMES)
def test_an_option_file_takes_what_only_a_restart_applies(
    start_server: Callable[..., PrivateServer], name: str
) -> None:
    """All such settings at once, at the rules' values as far as there are any; one start for each value there is."""
    server = start_server(name)
    connected = Connected(server)
    lines: dict[str, dict[str, Change]] = {}
    for _, changes in advised():
        for change in possible(connected, changes):
            if not change.dynamic:
                lines.setdefault(change.setting, {})[change.config] = change
    for setting in those_of(connected.identity, dynamic=False):
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
    """A value to try that a setting does not have."""
    setting, current = SETTINGS[name], connected.read(name)
    least = setting.minimum_on(connected.identity) or 0
    choices: tuple[SettingValue, ...] = (*setting.words_on(connected.identity), least, 2 * least)
    return next(choice for choice in choices if choice != current)
