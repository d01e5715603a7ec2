"""Idle servers, and an account without privileges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from exporter.collectors.variable_origins import VARIABLE_ORIGINS
from lab.captures.scenarios.base import (
    Numbers,
    Snapshots,
    Step,
    nothing,
    pages_read,
    require,
    scenario,
)
from lab.servers import NAMES, PrivateServer
from lab.servers.sql import execute

UNPRIVILEGED = "nobody"


def quiet(snapshots: Snapshots) -> Numbers:
    """Every source answered or does not exist here, and hardly any page was read."""
    for name, outcome in snapshots[-1].outcomes.items():
        require(outcome.failure in (None, "absent", "disabled"), f"{name} failed: {outcome.reason}")
    read = pages_read(snapshots)
    require(sum(read) < 100, f"the server read {sum(read)} pages")
    return {"pages_read": sum(read)}


def refused(snapshots: Snapshots) -> Numbers:
    """Sources that the account may not read fail with a reason and a cure."""
    outcomes = snapshots[-1].outcomes
    names = sorted(name for name, outcome in outcomes.items() if outcome.failure == "privilege")
    require(len(names) >= 5, f"only {names} were refused")
    for name in names:
        require(bool(outcomes[name].reason and outcomes[name].cure), f"{name} has no reason or no cure")
    return {"refused": names, "read": sorted(name for name, outcome in outcomes.items() if not outcome.failure)}


def told(snapshots: Snapshots) -> Numbers:
    """The server tells where its variables are set, or is known not to."""
    origins = snapshots[-1][VARIABLE_ORIGINS]
    if origins is None:
        require(snapshots[-1].outcomes[VARIABLE_ORIGINS.name].failure == "absent", "no origins")
        return {}
    require(origins.origins["innodb_old_blocks_pct"] == "runtime", "SET GLOBAL does not show")
    return {"origins": dict(sorted(origins.origins.items())), "persisted": dict(sorted(origins.persisted.items()))}


def _own_defaults(server: str) -> Mapping[str, str]:
    """The server's own defaults of the settings that lab.servers changes and that the advisor may look at."""
    dump = "OFF" if server == "mysql-5.6" else "ON"
    return {
        "innodb-buffer-pool-size": "128M",
        "innodb-buffer-pool-dump-at-shutdown": dump,
        "innodb-buffer-pool-load-at-startup": dump,
        "innodb-flush-log-at-trx-commit": "1",
    }


@scenario("idle", {name: _own_defaults(name) for name in (*NAMES, "mysql-5.7")}, quiet, collections=6)
@contextmanager
def idle(_server: PrivateServer) -> Iterator[Step]:
    """None: nobody but the sidecar is connected. The settings that the lab changes are at the server's own defaults."""
    yield nothing


@scenario(
    "variables-set",
    {
        "mysql-9.7": {"innodb-io-capacity": "2000"},
        "mariadb-10.5": {"innodb-buffer-pool-instances": "1", "innodb-change-buffer-max-size": "30"},
        "mysql-5.6": {"innodb-log-file-size": "64M", "innodb-log-files-in-group": "3"},
    },
    told,
    collections=3,
)
@contextmanager
def variables_set(server: PrivateServer) -> Iterator[Step]:
    """None. Variables are set by options, one by SET GLOBAL, and on MySQL 9.7 two by SET PERSIST."""
    execute(server, "SET GLOBAL innodb_old_blocks_pct = 40")
    if server.name == "mysql-9.7":
        execute(server, "SET PERSIST innodb_old_blocks_time = 2000")
        execute(server, "SET PERSIST_ONLY innodb_page_cleaners = 2")
    yield nothing


@scenario(
    "unprivileged",
    {"mysql-9.7": {}, "mariadb-10.11": {"performance-schema": "ON"}},
    refused,
    collections=6,
    user=UNPRIVILEGED,
)
@contextmanager
def unprivileged(server: PrivateServer) -> Iterator[Step]:
    """None. The sidecar's account has no privilege at all (USAGE)."""
    execute(server, f"CREATE USER '{UNPRIVILEGED}'@'%'")
    yield nothing
