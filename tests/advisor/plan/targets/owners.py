"""Servers, changes and manifests that the owners of settings are tried on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from advisor.contract.changes import change_on
from advisor.contract.plan import TargetName
from advisor.contract.recommendation import Change
from advisor.contract.settings import SETTINGS
from exporter.server import Server, identify
from lab.packages.cache import REPOSITORY

MYSQL = identify({"version": "9.7.4", "version_comment": "MySQL Community Server - GPL"})
MYSQL_57 = identify({"version": "5.7.44-log", "version_comment": "MySQL Community Server (GPL)"})
PERCONA = identify({"version": "8.0.42-33", "version_comment": "Percona Server (GPL), Release 33"})
MARIADB = identify({"version": "11.8.9-MariaDB", "version_comment": "mariadb.org binary distribution"})
RDS = identify({"version": "8.0.40", "version_comment": "Source distribution", "basedir": "/rdsdbbin/mysql-8.0.40/"})
CLOUD_SQL = identify({"version": "8.0.40-google", "version_comment": "(Google)"})


OLD_BLOCKS = change_on(MYSQL, "innodb_old_blocks_pct", 37.0, 50.0)
POOL = change_on(MYSQL, "innodb_buffer_pool_size", 134217728.0, 268435456.0)
BUFFERING = change_on(MYSQL, "innodb_change_buffering", "none", "all")
LOAD = change_on(MYSQL, "innodb_buffer_pool_load_at_startup", "OFF", "ON")

_ADVISED = re.compile(r"setting: (\w+)")
ADVISED = sorted(
    {
        setting
        for path in sorted((REPOSITORY / "rules").glob("*.yaml"))
        if not path.name.endswith(".cases.yaml")
        for setting in _ADVISED.findall(path.read_text(encoding="utf-8"))
    }
)
"""Every setting that a rule can advise."""


def advised(server: Server) -> list[Change]:
    """A change of every setting that a rule can advise and that the server has."""
    present = [SETTINGS[name] for name in ADVISED if SETTINGS[name].exists_on(server)]
    changes = []
    for setting in present:
        words = setting.words_on(server)
        least = setting.minimum_on(server) or 0
        before, after = (words[0], words[-1]) if words else (float(least), float(2 * least + 1))
        changes.append(change_on(server, setting.name, before, after))
    return changes


MANIFESTS = Path(__file__).parent / "manifests"
OPERATORS: tuple[TargetName, ...] = ("percona-ps", "percona-pxc", "oracle", "moco", "vitess", "mariadb-operator")
SERVERS: Mapping[TargetName, Server] = {"mariadb-operator": MARIADB, "terraform": RDS, "crossplane": RDS}


def server_of(name: TargetName) -> Server:
    """A server that an owner can have."""
    return SERVERS.get(name, MYSQL)


def manifest(name: TargetName) -> str:
    """A manifest of an owner, with lines of its own."""
    [path] = MANIFESTS.glob(f"{name}.*")
    return path.read_text(encoding="utf-8")
