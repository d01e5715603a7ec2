"""Which server this is: flavour, version, and what that makes possible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Flavour = Literal["mysql", "percona", "aurora", "mariadb"]
Version = tuple[int, int, int]

IDENTITY_SQL = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN "
    "('version', 'version_comment', 'aurora_version', 'performance_schema')"
)
ACCOUNT_SQL = "SELECT CURRENT_USER() AS account"


@dataclass(frozen=True, slots=True)
class Server:
    """A server's identity. Settings are read, never inferred from it; it only says which sources exist."""

    flavour: Flavour
    version: Version
    version_text: str
    comment: str
    performance_schema: bool

    @property
    def mariadb(self) -> bool:
        """Whether this is MariaDB, whose InnoDB went its own way after 10.1."""
        return self.flavour == "mariadb"

    def at_least(self, *, mysql: Version | None = None, mariadb: Version | None = None) -> bool:
        """Whether the version is at or past the one named for this family; None means never."""
        floor = mariadb if self.mariadb else mysql
        return floor is not None and self.version >= floor

    @property
    def parallel_read(self) -> bool:
        """Parallel clustered-index reads: MySQL 8.0.14 (release notes); MariaDB has none."""
        return self.at_least(mysql=(8, 0, 14))

    @property
    def parallel_ddl(self) -> bool:
        """innodb_ddl_threads and innodb_ddl_buffer_size: MySQL 8.0.27 (release notes)."""
        return self.at_least(mysql=(8, 0, 27))

    @property
    def data_dictionary(self) -> bool:
        """MySQL 8.0's dictionary: INNODB_CACHED_INDEXES, and no SYS_ in INFORMATION_SCHEMA's table names."""
        return self.at_least(mysql=(8, 0, 0))

    @property
    def change_buffer(self) -> bool:
        """Whether the server has a change buffer at all: MariaDB removed it in 11.0 (MDEV-29694)."""
        return not (self.mariadb and self.version >= (11, 0, 0))

    @property
    def set_persist(self) -> bool:
        """SET PERSIST: MySQL 8.0; MariaDB never had it."""
        return self.at_least(mysql=(8, 0, 0))


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
    )
