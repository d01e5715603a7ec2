"""The settings before and after an upgrade, with the defaults that a server computes when it starts. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from advisor.contract.settings import SETTINGS, Setting, SettingValue
from advisor.observe.window import Window
from advisor.pool.settings import POOL_SIZE, in_chunks
from advisor.upgrade.upgrade import SettingForecast
from exporter.collectors.machine import MACHINE, Machine
from exporter.collectors.pools import POOLS
from exporter.knowledge import Computed
from exporter.server import Server

_MIB, _GIB = 2**20, 2**30
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
    """

    server: Server
    set_values: Mapping[str, SettingValue]
    cores: int | None = None
    memory_bytes: int | None = None
    filesystem: str | None = None

    @classmethod
    def on(cls, machine: Machine, server: Server, set_values: Mapping[str, SettingValue]) -> ServerStart:
        """The start on a machine. Only newer versions count what a container's limits leave of it."""
        cores, memory = machine.cores, machine.memory_bytes
        if not server.has("container_limits_read"):
            cores = None if "cgroup" in (machine.cores_source or "") else cores
            memory = None if "cgroup" in (machine.memory_source or "") else memory
        return cls(server, set_values, None if cores is None else max(1, int(cores)), memory, machine.filesystem)

    def value(self, name: str) -> SettingValue | None:
        """The value of a setting.

        None where the version has no such setting, or no such value, or computes the default from what is not known.

        Raises:
            KeyError: The setting is not in knowledge.toml.
        """
        if name not in self.set_values:
            return self.default(name)
        value = self._taken(name)
        return self._in_chunks(value) if name == POOL_SIZE and isinstance(value, float) else value

    def default(self, name: str) -> SettingValue | None:
        """The default of a setting beside the others' values; None where there is none, or it is not known.

        Raises:
            KeyError: The setting is not in knowledge.toml.
        """
        setting = SETTINGS[name]
        default = setting.entry.default.on(self.server.family, self.server.version)
        if default is None or not setting.exists_on(self.server):
            return None
        if isinstance(default, Computed):
            return FORMULAS[default.computed](self)
        return _plain(setting, default) if isinstance(default, str) else float(default)

    def number(self, name: str) -> float | None:
        """The value of a setting that is a number, before the server rounds it."""
        value = self._taken(name) if name in self.set_values else self.default(name)
        return None if isinstance(value, str) else value

    def _taken(self, name: str) -> SettingValue | None:
        """What the server makes of a value that is set: it holds numbers within their range."""
        setting, value = SETTINGS[name], self.set_values[name]
        if not setting.exists_on(self.server):
            return None
        if isinstance(value, str):
            return value if setting.accepts(value, self.server) else None
        least, most = setting.minimum_on(self.server), setting.maximum_on(self.server)
        return _between(-math.inf if least is None else least, value, math.inf if most is None else most)

    def _in_chunks(self, size: float) -> float:
        """The pool's size in whole chunks; as it is where the version has none, or their number is not known."""
        chunk, instances = self.number(_CHUNK), 1.0 if self.server.mariadb else self.number(_INSTANCES)
        return in_chunks(size, chunk * instances) if chunk and instances else size


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
    machine = latest[MACHINE] or Machine()
    read = {name: _plain(setting, setting.read(latest.setting(name))) for name, setting in SETTINGS.items()}
    values = {name: value for name, value in read.items() if value is not None}
    if _INSTANCES in values and (pools := latest[POOLS]):
        values[_INSTANCES] = float(len(pools))  # MySQL 5.6 prints 8 for the one of a pool under 1 GiB
    old = ServerStart.on(machine, latest.server, values)
    changed = {name: value for name, value in values.items() if old.default(name) not in (None, value)}
    new = ServerStart.on(machine, after, changed if configured is None else configured)
    return {
        name: SettingForecast(
            name,
            values.get(name),
            new.value(name),
            False if name in changed or name in new.set_values else None if configured is None else True,
        )
        for name, setting in SETTINGS.items()
        if name in values or setting.exists_on(after)
    }


def _plain(setting: Setting, value: SettingValue | None) -> SettingValue | None:
    """The value with a name, where a server prints none for it."""
    return setting.entry.empty or value if value == "" else value


def _between(least: float, value: float, most: float) -> float:
    return float(max(least, min(value, most)))


# --- The formulas, by their names in knowledge.toml ---


def pool_size(start: ServerStart) -> SettingValue | None:
    """The pool's own size."""
    return start.number(POOL_SIZE)


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


FORMULAS: Mapping[str, Callable[[ServerStart], SettingValue | None]] = {
    formula.__name__: formula
    for formula in (
        pool_size,
        chunk_within_pool,
        eight_from_1_gib,
        instances_by_size_and_cores,
        four_or_instances,
        as_many_as_instances,
        readers_by_cores,
        read_threads_by_cores,
        twice_io_capacity,
        twice_io_capacity_from_2000,
        direct_if_supported,
    )
}
