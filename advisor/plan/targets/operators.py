"""The operators of Kubernetes that hold lines in objects, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advisor.contract.plan import Applied, RollOut
from advisor.contract.recommendation import Change
from advisor.plan.targets.manifest import Place, pattern
from advisor.plan.targets.operator import Home, Operator
from advisor.plan.targets.option_block import OptionBlock
from advisor.plan.targets.parameter_group import AMAZON, FORMULA, ParameterGroup, in_group, parameter_list
from advisor.plan.targets.percona_server import BLOCK, PerconaServer
from advisor.plan.targets.target import PlanRefused, Reach, written
from exporter.server import Server

_POOL = "innodb_buffer_pool_size"
_MYSQL, _MARIADB = Reach(families=("mysql",)), Reach(families=("mariadb",))
_PS, _PXC, _ORACLE, _MOCO = "ps.percona.com", "pxc.percona.com", "mysql.oracle.com", "moco.cybozu.com"
_VITESS, _MARIADB_GROUP, _RDS = "planetscale.com", "k8s.mariadb.com", "rds.aws.m.upbound.io"
_SHARDS = ("equal/shardTemplate", "custom/shards/[]")
_TABLETS = tuple(f"spec/keyspaces/[]/partitionings/[]/{shards}/tabletPools/[]/mysqld" for shards in _SHARDS)


def _home(kind: str, group: str, *paths: str) -> Home:
    return Home(kind, group, tuple(map(pattern, paths)))


def _variable_map(present: Any, changes: tuple[Change, ...], server: Server) -> Mapping[Place, Any]:  # noqa: ARG001 - the same for all servers
    """A map from variables to texts, as a ConfigMap of MOCO: each variable under the name that it has, or its own.

    A name may have dashes and the prefix ``loose_``.

    Raises:
        PlanRefused: It is no map.
    """
    if not isinstance(present or {}, Mapping):
        raise PlanRefused("The manifest has no map of variables where they belong.")
    edits: dict[Place, Any] = {}
    for change in changes:
        keys = [key for key in present or {} if key.replace("-", "_").removeprefix("loose_") == change.setting]
        edits |= {(key,): written(change.to) for key in keys or [change.setting]}
    return edits


PERCONA_SERVER = PerconaServer(
    name="percona-ps",
    reach=_MYSQL,
    homes=(_home("PerconaServerMySQL", _PS, "spec/mysql/configuration"), _home("ConfigMap", "", "data/my.cnf")),
    form=BLOCK.edits,
    resources=_home("PerconaServerMySQL", _PS, "spec/mysql/resources"),
    conduct=RollOut(
        applied=Applied.RESTART,
        how="",
        source="percona-server-mysql-operator, pkg/controller/ps/mysql_config.go, pkg/mysql/config.go, 2026-08",
        sure=True,
    ),
    tuning={
        _POOL: "Without the line the operator sizes the pool itself: half of the memory limit, or of the request "
        "where there is no limit."
    },
)
PERCONA_XTRADB = Operator(
    name="percona-pxc",
    reach=_MYSQL,
    homes=(_home("PerconaXtraDBCluster", _PXC, "spec/pxc/configuration"), _home("ConfigMap", "", "data/init.cnf")),
    form=OptionBlock().edits,
    resources=_home("PerconaXtraDBCluster", _PXC, "spec/pxc/resources"),
    conduct=RollOut(
        applied=Applied.RESTART,
        how="The operator restarts the pods one after the other: a hash of the text is in their annotations. A Secret "
        "named CLUSTER-pxc wins over this line, if there is one.",
        source="percona-xtradb-cluster-operator, pkg/controller/pxc/upgrade.go, 2026-03",
        sure=True,
    ),
    tuning={
        _POOL: "Without the line the operator sizes the pool itself: 75 % of the memory limit, or half of it where "
        "less than 1 GB would remain."
    },
)
ORACLE = Operator(
    name="oracle",
    reach=_MYSQL,
    homes=(_home("InnoDBCluster", _ORACLE, "spec/mycnf"),),
    form=OptionBlock().edits,
    resources=_home("InnoDBCluster", _ORACLE, "spec/podSpec/containers/[mysql]/resources"),
    conduct=RollOut(
        applied=Applied.BY_HAND,
        how="The operator writes spec.mycnf into the pods' configuration upon their creation, and seems to bring no "
        "later change to them. Set the running servers by SET PERSIST: it outlives restarts, and wins over the line.",
        source="mysql-operator, samples and spec_tld_handlers, 2024-09",
        sure=False,
    ),
)
MOCO = Operator(
    name="moco",
    reach=_MYSQL,
    homes=(_home("ConfigMap", "", "data"),),
    form=_variable_map,
    resources=_home("MySQLCluster", _MOCO, "spec/podTemplate/spec/containers/[mysqld]/resources"),
    conduct=RollOut(
        applied=Applied.RESTART,
        how="MOCO makes the pods' ConfigMap of the one that spec.mysqlConfigMapName names, and restarts the pods.",
        source="moco, pkg/mycnf and documents, 2026-07; the restart is inferred: the name of that ConfigMap depends on "
        "its text",
        sure=False,
    ),
    tuning={
        _POOL: "Without the line MOCO sizes the pool itself: 70 % of the container's memory request.",
        "innodb_buffer_pool_load_at_startup": "MOCO's own default is 0.",
        "innodb_buffer_pool_dump_pct": "MOCO's own default is 100.",
        "innodb_random_read_ahead": "MOCO's own default is false.",
        "innodb_read_ahead_threshold": "MOCO's own default is 0.",
    },
)
VITESS = Operator(
    name="vitess",
    reach=_MYSQL,
    homes=(_home("VitessCluster", _VITESS, *(f"{mysqld}/configOverrides" for mysqld in _TABLETS)),),
    form=OptionBlock(headless=True).edits,
    resources=_home("VitessCluster", _VITESS, *(f"{mysqld}/resources" for mysqld in _TABLETS)),
    conduct=RollOut(
        applied=Applied.RESTART,
        how="The operator restarts one tablet of a shard after the other, and moves the primary before its turn. With "
        "spec.updateStrategy.type External it waits for the annotation rollout.planetscale.com/released.",
        source="vitess-operator, pkg/operator/vttablet and the field updateStrategy, 2026-07",
        sure=True,
    ),
)
MARIADB = Operator(
    name="mariadb-operator",
    reach=_MARIADB,
    homes=(_home("MariaDB", _MARIADB_GROUP, "spec/myCnf"), _home("ConfigMap", "", "data/my.cnf")),
    form=OptionBlock().edits,
    resources=_home("MariaDB", _MARIADB_GROUP, "spec/resources"),
    elsewhere=("spec", "myCnfConfigMapKeyRef"),
    conduct=RollOut(
        applied=Applied.RESTART,
        how="It restarts the pods: replicas first, the primary last (updateStrategy ReplicasFirstPrimaryLast, "
        "the default). A ConfigMap of myCnfConfigMapKeyRef needs the label k8s.mariadb.com/watch for that.",
        source="mariadb-operator, documents of configuration, 2026-07",
        sure=True,
    ),
)
CROSSPLANE = ParameterGroup(
    name="crossplane",
    reach=AMAZON,
    homes=tuple(
        _home(kind, _RDS, "spec/forProvider/parameter") for kind in ("ParameterGroup", "ClusterParameterGroup")
    ),
    form=parameter_list,
    resources=None,
    conduct=in_group((), "Crossplane"),
    tuning=FORMULA,
)
OPERATORS = (PERCONA_SERVER, PERCONA_XTRADB, ORACLE, MOCO, VITESS, MARIADB, CROSSPLANE)
