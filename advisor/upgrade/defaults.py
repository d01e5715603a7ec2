"""The settings before and after an upgrade, with the defaults that a server computes when it starts. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from advisor.contract.settings import SETTINGS, Setting, SettingValue
from advisor.observe.window import Window
from advisor.pool.settings import POOL_SIZE, in_chunks
from advisor.upgrade.upgrade import SettingForecast
from exporter.collectors.machine import CONFIGURATION, MACHINE, Machine
from exporter.collectors.pools import POOLS
from exporter.knowledge import Computed
from exporter.server import Server

_MIB, _GIB = 2**20, 2**30
_OF_HOST = ("cpu affinity", "INNODB_METRICS cpu_n", "MemTotal", CONFIGURATION)
"""The sources of Machine's cores and memory that are not limits of a container."""
_CHUNK, _INSTANCES = "innodb_buffer_pool_chunk_size", "innodb_buffer_pool_instances"


@dataclass(frozen=True, slots=True)
class ServerStart:
    """A start of a server: what it computes its defaults from.

    Attributes:
        server: Its version.
        set_values: The settings that are set, by name.
        cores: As this version counts them; None where that is not known.
        memory_bytes: As this version counts it; None where that is not known.
        filesystem: The type of the data folder's file system; None where that is not known.
        binary_log: Whether the server writes one; None where that is not known.
    """

    server: Server
    set_values: Mapping[str, SettingValue]
    cores: int | None = None
    memory_bytes: int | None = None
    filesystem: str | None = None
    binary_log: bool | None = None

    def value(self, name: str) -> SettingValue | None:
        """The value of a setting.

        None where the version has no such setting, or no such value, or computes the default from what is not known.

        Raises:
            KeyError: The setting is not in knowledge.toml.
        """
        return self._settled(name, self._taken(name) if name in self.set_values else self._computed(name))

    def default(self, name: str) -> SettingValue | None:
        """The value that a setting would have beside the others' if it were not set; None as for ``value``.

        Raises:
            KeyError: The setting is not in knowledge.toml.
        """
        return self._settled(name, self._computed(name))

    def number(self, name: str) -> float | None:
        """The value of a setting that is a number, before the server rounds it."""
        value = self._taken(name) if name in self.set_values else self._computed(name)
        return None if isinstance(value, str) else value

    def _computed(self, name: str) -> SettingValue | None:
        setting = SETTINGS[name]
        default = setting.entry.default.on(self.server.family, self.server.version)
        if default is None or not setting.exists_on(self.server):
            return None
        if isinstance(default, Computed):
            return FORMULAS[default.computed](self)
        return _plain(setting, default) if isinstance(default, str) else float(default)

    def _taken(self, name: str) -> SettingValue | None:
        """What the server makes of a value that is set: it holds numbers within their range."""
        setting, value = SETTINGS[name], self.set_values[name]
        if not setting.exists_on(self.server):
            return None
        if isinstance(value, str):
            return value if setting.accepts(value, self.server) else None
        least, most = setting.minimum_on(self.server), setting.maximum_on(self.server)
        return _between(-math.inf if least is None else least, value, math.inf if most is None else most)

    def _settled(self, name: str, value: SettingValue | None) -> SettingValue | None:
        """The value; of the pool's size in whole chunks, where the version has such and their number is known."""
        if name != POOL_SIZE or not isinstance(value, float):
            return value
        chunk, instances = self.number(_CHUNK), 1.0 if self.server.mariadb else self.number(_INSTANCES)
        return in_chunks(value, chunk * instances) if chunk and instances else value


def settings_of(
    window: Window, after: Server, configured: Mapping[str, SettingValue] | None
) -> dict[str, SettingForecast]:
    """The settings of knowledge.toml that one of the two versions has, before and after the upgrade.

    What is set keeps its value, as far as the new version takes it. All else has the new version's default.

    Args:
        window: The server as it was watched.
        after: The server with the new version.
        configured: The settings that are set, with the values that the next start gives them. None where the server
            does not tell: then a setting counts as set where its value is not the default.
    """
    latest = window.latest
    read = {name: _plain(setting, setting.read(latest.setting(name))) for name, setting in SETTINGS.items()}
    values = {name: value for name, value in read.items() if value is not None}
    if _INSTANCES in values and (pools := latest[POOLS]):
        values[_INSTANCES] = float(len(pools))  # MySQL 5.6 prints 8 for the one of a pool under 1 GiB
    old = _start(window, latest.server, values)
    changed = {name: value for name, value in values.items() if old.default(name) not in (None, value)}
    new = _start(window, after, changed if configured is None else configured)
    forecasts = {}
    for name, setting in SETTINGS.items():
        if not setting.exists_on(latest.server) and not setting.exists_on(after):
            continue
        unknown = configured is None and name not in values and setting.exists_on(latest.server)
        forecasts[name] = SettingForecast(
            name,
            before=values.get(name),
            after=None if unknown else new.value(name),
            is_set=name in changed or name in new.set_values,
        )
    return forecasts


def _start(window: Window, server: Server, set_values: Mapping[str, SettingValue]) -> ServerStart:
    """A start of the server that was watched, or of the same with another version.

    MySQL counts what the host has, whatever the limits of its container are, unless container_aware is on (seen on
    9.7.4: off by default). MySQL 8.0 and later write a binary log unless told otherwise.
    """
    machine = window.latest[MACHINE] or Machine()
    cores, memory = machine.host_cores, machine.host_memory_bytes
    aware = window.latest.setting("container_aware") == "ON"
    if aware or (cores is None and machine.cores_source in _OF_HOST):
        cores = None if machine.cores is None else max(1, int(machine.cores))
    if aware or (memory is None and machine.memory_source in _OF_HOST):
        memory = machine.memory_bytes
    log = window.latest.setting("log_bin")
    writes_log = True if log == "ON" else False if log == "OFF" and window.latest.server.data_dictionary else None
    return ServerStart(server, set_values, cores, memory, machine.filesystem, writes_log)


def _plain(setting: Setting, value: SettingValue | None) -> SettingValue | None:
    """The value with a name, where a server prints none for it."""
    return setting.entry.empty or value if value == "" else value


def _between(least: float, value: float, most: float) -> float:
    return float(max(least, min(value, most)))


# --- The formulas, by their names in knowledge.toml ---


def pool_size(start: ServerStart) -> SettingValue | None:
    """The pool's own size, rounded up to 8 MiB."""
    size = start.number(POOL_SIZE)
    return None if size is None else math.ceil(size / (8 * _MIB)) * 8.0 * _MIB


def pool_size_max(start: ServerStart) -> SettingValue | None:
    """innodb_buffer_pool_size_max."""
    return start.number("innodb_buffer_pool_size_max")


def share_of_memory_if_dedicated(start: ServerStart) -> SettingValue | None:
    """128 MiB; with innodb_dedicated_server half of the memory from 1 GiB on, and three quarters above 4 GiB."""
    memory = start.memory_bytes
    if not _dedicated(start):
        return 128.0 * _MIB
    if memory is None:
        return None
    return 128.0 * _MIB if memory < _GIB else memory * (0.5 if memory <= 4 * _GIB else 0.75)


def chunk_within_pool(start: ServerStart) -> SettingValue | None:
    """128 MiB, or an instance's whole MiB where it has less."""
    size, instances = start.number(POOL_SIZE), 1.0 if start.server.mariadb else start.number(_INSTANCES)
    if size is None or not instances:
        return None
    return float(min(128 * _MIB, math.ceil(size / instances / _MIB) * _MIB))


def eight_from_1_gib(start: ServerStart) -> SettingValue | None:
    """8 pool instances, 1 in a pool under 1 GiB."""
    size = start.number(POOL_SIZE)
    return None if size is None else 8.0 if size >= _GIB else 1.0


def always_one(_: ServerStart) -> SettingValue | None:
    """1, whatever the option file says."""
    return 1.0


def instances_by_size_and_cores(start: ServerStart) -> SettingValue | None:
    """The smaller of half the pool's chunks and a quarter of the cores, from 1 to 64; 1 in a pool under 1 GiB."""
    size, chunk = start.number(POOL_SIZE), start.set_values.get(_CHUNK, 128.0 * _MIB)
    if size is None or isinstance(chunk, str):
        return None
    if size < _GIB:
        return 1.0
    return None if start.cores is None else _between(1, min(size // (2 * chunk), start.cores // 4), 64)


def four_or_instances(start: ServerStart) -> SettingValue | None:
    """4 page cleaners, and no more than there are pool instances."""
    instances = start.number(_INSTANCES)
    return None if instances is None else min(4.0, instances)


def as_many_as_instances(start: ServerStart) -> SettingValue | None:
    """A page cleaner for each pool instance."""
    return start.number(_INSTANCES)


def readers_by_cores(start: ServerStart) -> SettingValue | None:
    """A parallel reader for eight cores, from 4 to 256."""
    return None if start.cores is None else _between(4, start.cores // 8, 256)


def read_threads_by_cores(start: ServerStart) -> SettingValue | None:
    """A read thread for two cores, from 4 to 64."""
    return None if start.cores is None else _between(4, start.cores // 2, 64)


def twice_io_capacity(start: ServerStart) -> SettingValue | None:
    """Twice innodb_io_capacity."""
    capacity = start.number("innodb_io_capacity")
    return None if capacity is None else 2 * capacity


def twice_io_capacity_from_2000(start: ServerStart) -> SettingValue | None:
    """Twice innodb_io_capacity, and at least 2000."""
    capacity = start.number("innodb_io_capacity")
    return None if capacity is None else max(2 * capacity, 2000.0)


def direct_if_supported(start: ServerStart) -> SettingValue | None:
    """O_DIRECT, if the data folder's file system supports it, as all of disks do."""
    return None if start.filesystem == "tmpfs" else "O_DIRECT"


def one_purge_thread_up_to_16_cores(start: ServerStart) -> SettingValue | None:
    """1 purge thread up to 16 cores, 4 from 17 on."""
    return None if start.cores is None else 1.0 if start.cores <= 16 else 4.0


def three_percent_of_memory(start: ServerStart) -> SettingValue | None:
    """3 % of the memory, from 1 to 4 GiB."""
    return None if start.memory_bytes is None else _between(_GIB, start.memory_bytes * 3 // 100, 4 * _GIB)


def as_many_as_write_threads(start: ServerStart) -> SettingValue | None:
    """innodb_write_io_threads."""
    return start.number("innodb_write_io_threads")


def writers_from_32_cores(start: ServerStart) -> SettingValue | None:
    """ON from 32 cores on."""
    return None if start.cores is None else "ON" if start.cores >= 32 else "OFF"


def writers_by_cores_and_binary_log(start: ServerStart) -> SettingValue | None:
    """ON from 32 cores on; without a binary log from 5 on."""
    if start.cores is None:
        return None
    with_log, without = start.cores >= 32, start.cores > 4
    if with_log != without and start.binary_log is None:
        return None
    return "ON" if (with_log if start.binary_log else without) else "OFF"


def redo_of_log_files_or_pool(start: ServerStart) -> SettingValue | None:
    """100 MiB, or that of the log files; with innodb_dedicated_server by the pool's size, up to 128 GiB."""
    if (files := _log_files(start)) is not None or not _dedicated(start):
        return files or 100.0 * _MIB
    size = start.number(POOL_SIZE)
    if size is None:
        return None
    if size < 8 * _GIB:
        return 100.0 * _MIB if size < _GIB else round(size / _GIB) * 512.0 * _MIB
    return float(min(0.75 * size, 128 * _GIB))


def redo_of_log_files_or_cores(start: ServerStart) -> SettingValue | None:
    """100 MiB, or that of the log files; with innodb_dedicated_server by the cores."""
    return _log_files(start) or redo_of_cores(start)


def redo_of_cores(start: ServerStart) -> SettingValue | None:
    """100 MiB; with innodb_dedicated_server 1 GiB for two cores, from 8 MiB to 16 GiB."""
    if not _dedicated(start):
        return 100.0 * _MIB
    return None if start.cores is None else _between(8 * _MIB, start.cores / 2 * _GIB, 16 * _GIB)


def _dedicated(start: ServerStart) -> bool:
    return start.value("innodb_dedicated_server") == "ON"


def _log_files(start: ServerStart) -> float | None:
    """The bytes of all log files, where the version takes them for the capacity, and they are not the default ones."""
    names = ("innodb_log_file_size", "innodb_log_files_in_group")
    at_default = all(start.number(name) == start.default(name) for name in names)
    if at_default or not start.server.has("log_file_size_sets_capacity"):
        return None
    size, files = (start.number(name) for name in names)
    return size * files if size and files else None


FORMULAS: Mapping[str, Callable[[ServerStart], SettingValue | None]] = {
    formula.__name__: formula
    for formula in (
        pool_size,
        pool_size_max,
        share_of_memory_if_dedicated,
        chunk_within_pool,
        eight_from_1_gib,
        always_one,
        instances_by_size_and_cores,
        four_or_instances,
        as_many_as_instances,
        readers_by_cores,
        read_threads_by_cores,
        twice_io_capacity,
        twice_io_capacity_from_2000,
        direct_if_supported,
        one_purge_thread_up_to_16_cores,
        three_percent_of_memory,
        as_many_as_write_threads,
        writers_from_32_cores,
        writers_by_cores_and_binary_log,
        redo_of_log_files_or_pool,
        redo_of_log_files_or_cores,
        redo_of_cores,
    )
}
