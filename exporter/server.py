"""The identity of a server: flavour, version and managed service, and the behaviours that these imply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from exporter import knowledge

Flavour = knowledge.Flavour
Managed = knowledge.Managed
Version = knowledge.Version

IDENTITY_SQL = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ("
    "'aad_auth_only', 'aurora_version', 'basedir', 'cloudsql_iam_authentication', 'group_replication_group_name', "
    "'hostname', 'performance_schema', 'port', 'server_id', 'server_uuid', 'version', 'version_comment', "
    "'version_compile_os')"
)

_OF_ONE_SERVER = ("server_uuid", "server_id", "hostname", "port")  # MariaDB has no server_uuid

# A variable that only this service has, and a part of its value. None could be tried on the service itself.
_SERVICES: Mapping[Managed, tuple[str, str]] = {
    "aurora": ("aurora_version", ""),
    "rds": ("basedir", "/rdsdbbin/"),
    "azure": ("aad_auth_only", ""),  # Microsoft Entra authentication
    "cloudsql": ("cloudsql_iam_authentication", ""),
}
_CLOUD_SQL_VERSION = "-google"  # as in 5.7.25-google-log


@dataclass(frozen=True, slots=True)
class Server:
    """A server's identity, which implies its sources and behaviours. Settings are read, never inferred from it."""

    flavour: Flavour
    version: Version
    version_text: str
    comment: str
    """The variable version_comment."""
    performance_schema: bool
    """Whether it is switched on."""
    managed: Managed | None = None
    """The cloud service that runs the server; it reserves SUPER, option files and SET PERSIST for itself."""
    group_replication: bool = False
    """Whether the server is set up as a member of a Group Replication group."""
    windows: bool = False

    def __str__(self) -> str:
        return f"{self.flavour} {self.version_text}"

    @property
    def mariadb(self) -> bool:
        """Whether this is MariaDB, whose InnoDB diverged after 10.1."""
        return self.flavour == "mariadb"

    @property
    def family(self) -> knowledge.Family:
        """The family of its version numbers: Percona Server and Aurora have MySQL's."""
        return "mariadb" if self.mariadb else "mysql"

    def at_least(self, *, mysql: Version | None = None, mariadb: Version | None = None) -> bool:
        """Whether the version is at least the one given for its family; None means never."""
        floor = mariadb if self.mariadb else mysql
        return floor is not None and self.version >= floor

    def has(self, behaviour: str) -> bool:
        """Whether the server has a behaviour or a bug, by its name in knowledge.toml.

        Raises:
            KeyError: There is no such behaviour.
        """
        entry = knowledge.BEHAVIOURS[behaviour]
        versions = entry.windows if self.windows and entry.windows is not None else entry.on
        return versions.on(self.family, self.version) is True and self.flavour not in entry.not_on

    @property
    def behaves_like(self) -> str | None:
        """The newest release in knowledge.toml, where the server is newer: it is assumed to behave the same."""
        newest = knowledge.NEWEST[self.family]
        return newest if self.version[:2] > parse_version(newest)[:2] else None

    @property
    def parallel_read(self) -> bool:
        """Parallel clustered-index reads."""
        return self.has("parallel_read")

    @property
    def parallel_ddl(self) -> bool:
        """innodb_ddl_threads and innodb_ddl_buffer_size."""
        return self.has("parallel_ddl")

    @property
    def data_dictionary(self) -> bool:
        """MySQL 8.0's dictionary: INNODB_CACHED_INDEXES, and no SYS_ in INFORMATION_SCHEMA's table names."""
        return self.has("data_dictionary")

    @property
    def change_buffer(self) -> bool:
        """Whether the server has a change buffer at all."""
        return self.has("change_buffer")

    @property
    def set_persist(self) -> bool:
        """SET PERSIST, whether or not the account may use it."""
        return self.has("set_persist")


def parse_version(version_text: str) -> Version:
    """The three numbers of a version string.

    MariaDB may have the prefix ``5.5.5-``, for old replicas. MySQL has calendar versions such as ``26.7.0`` after 9.7.

    Raises:
        ValueError: The text holds no version.
    """
    bare = re.sub(r"^5\.5\.5-(?=\d+\.\d+\.\d+-MariaDB)", "", version_text, flags=re.IGNORECASE)
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", bare)
    if match is None:
        raise ValueError(f"not a server version: {version_text!r}")
    major, minor, patch = match.groups()
    return int(major), int(minor), int(patch or 0)


def identify(variables: Mapping[str, str]) -> Server:
    """The identity of the server with these variables, those of IDENTITY_SQL.

    Raises:
        ValueError: ``version`` is missing or holds no version.
    """
    version_text = variables.get("version", "")
    comment = variables.get("version_comment", "")
    flavour: Flavour
    if "mariadb" in f"{version_text} {comment}".lower():
        flavour = "mariadb"
    elif "aurora_version" in variables:
        flavour = "aurora"
    elif "percona" in comment.lower():
        flavour = "percona"
    else:
        flavour = "mysql"
    return Server(
        flavour=flavour,
        version=parse_version(version_text),
        version_text=version_text,
        comment=comment,
        performance_schema=variables.get("performance_schema", "OFF").upper() in ("ON", "1"),
        managed=_service(variables, version_text.lower()),
        group_replication=variables.get("group_replication_group_name", "") != "",
        windows=variables.get("version_compile_os", "").lower().startswith("win"),
    )


def instance(variables: Mapping[str, str]) -> tuple[str | None, ...]:
    """Values that differ between two servers behind the same address, whatever their version."""
    return tuple(variables.get(name) for name in _OF_ONE_SERVER)


def identity(server: Server) -> dict[str, str]:
    """Variables from which ``identify`` makes the same Server, without names that its owner gave."""
    variables = {
        "version": server.version_text,
        "version_comment": server.comment,
        "performance_schema": "ON" if server.performance_schema else "OFF",
    }
    if server.managed is not None:
        variables |= dict((_SERVICES[server.managed],))
    if server.group_replication:
        variables |= {"group_replication_group_name": "kept to itself"}
    if server.windows:
        variables |= {"version_compile_os": "Windows"}
    return variables


def _service(variables: Mapping[str, str], version_text: str) -> Managed | None:
    for service, (name, value) in _SERVICES.items():
        if name in variables and value in variables[name]:
            return service
    return "cloudsql" if _CLOUD_SQL_VERSION in version_text else None
