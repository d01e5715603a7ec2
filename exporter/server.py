"""Which server this is: flavour, version, who runs it, and what that makes possible."""

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
ACCOUNT_SQL = "SELECT CURRENT_USER() AS account, CONNECTION_ID() AS id"

_OF_ONE_SERVER = ("server_uuid", "server_id", "hostname", "port")  # MariaDB has no server_uuid

# A variable that only this service has, or what only its value holds. None could be tried on the service itself.
_SERVICES: Mapping[Managed, tuple[str, str]] = {
    "aurora": ("aurora_version", ""),
    "rds": ("basedir", "/rdsdbbin/"),
    "azure": ("aad_auth_only", ""),  # Microsoft Entra authentication
    "cloudsql": ("cloudsql_iam_authentication", ""),
}
_CLOUD_SQL_VERSION = "-google"  # as in 5.7.25-google-log


@dataclass(frozen=True, slots=True)
class Server:
    """A server's identity. Settings are read, never inferred from it; it says which sources and behaviours exist.

    Attributes:
        managed: The cloud service that runs it and keeps SUPER, option files and SET PERSIST to itself.
        group_replication: Whether it is set up as a member of a Group Replication group.
        windows: Whether it runs on Windows.
    """

    flavour: Flavour
    version: Version
    version_text: str
    comment: str
    performance_schema: bool
    managed: Managed | None = None
    group_replication: bool = False
    windows: bool = False

    @property
    def mariadb(self) -> bool:
        """Whether this is MariaDB, whose InnoDB went its own way after 10.1."""
        return self.flavour == "mariadb"

    @property
    def family(self) -> knowledge.Family:
        """Whose version numbers it has: Percona Server's and Aurora's are MySQL's."""
        return "mariadb" if self.mariadb else "mysql"

    def at_least(self, *, mysql: Version | None = None, mariadb: Version | None = None) -> bool:
        """Whether the version is at or past the one named for this family; None means never."""
        floor = mariadb if self.mariadb else mysql
        return floor is not None and self.version >= floor

    def has(self, behaviour: str) -> bool:
        """Whether it does or has what ``behaviour``, a name of knowledge.toml, says.

        Raises:
            KeyError: There is no such behaviour.
        """
        known = knowledge.BEHAVIOURS[behaviour]
        versions = known.windows if self.windows and known.windows is not None else known.on
        return versions.on(self.family, self.version) and self.flavour not in known.not_on

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
        """SET PERSIST, whoever may use it."""
        return self.has("set_persist")


def parse_version(version_text: str) -> Version:
    """The three numbers of a version string.

    MariaDB may prefix its own with ``5.5.5-`` for old replicas; after MySQL 9.7 come calendar versions
    such as ``26.7.0``.

    Raises:
        ValueError: The text holds no version.
    """
    bare = re.sub(r"^5\.5\.5-(?=\d+\.\d+\.\d+-MariaDB)", "", version_text, flags=re.IGNORECASE)
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", bare)
    if found is None:
        raise ValueError(f"not a server version: {version_text!r}")
    major, minor, patch = found.groups()
    return int(major), int(minor), int(patch or 0)


def identify(variables: Mapping[str, str]) -> Server:
    """The server behind the variables that IDENTITY_SQL names.

    Raises:
        ValueError: There is no usable ``version`` among them.
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
    """What tells a server from another of the same version behind the same address."""
    return tuple(variables.get(name) for name in _OF_ONE_SERVER)


def identity(server: Server) -> dict[str, str]:
    """The variables that ``identify`` needs to find the same server, without any name that is its owner's."""
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
