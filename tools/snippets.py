"""The texts of docs/sidecars: for each operator, the place of the sidecar and its pitfalls.

Each place comes from the operator's source, at the commit that the snippet names. No operator runs in a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Place = Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], dict[str, Any]]
_ACCOUNT = """\
Create the account on the primary, as its administrator (replication copies it to the replicas):

  CREATE USER innodb_advisor@'127.0.0.1' IDENTIFIED BY 'change-me' WITH MAX_USER_CONNECTIONS 4;
  GRANT PROCESS ON *.* TO innodb_advisor@'127.0.0.1';
  GRANT SELECT ON performance_schema.* TO innodb_advisor@'127.0.0.1';
  GRANT SELECT ON mysql.innodb_index_stats TO innodb_advisor@'127.0.0.1';

image: is your own image, built with `make image` and pushed to your registry."""


@dataclass(frozen=True)
class Snippet:
    """A file of docs/sidecars.

    Attributes:
        name: The file's, without its suffix.
        head: The comment at its top.
        where: The comment above the part with the sidecar.
        labels: Labels of the pods, for the PodMonitor.
        place: Puts container and volumes into the operator's resource.
        native: Whether the container is a native sidecar: an init container that keeps running.
    """

    name: str
    head: str
    where: str
    labels: Mapping[str, str]
    place: Place
    native: bool = False


def _head(title: str, checked: str, *notes: str) -> str:
    body = "\n\n".join((title, checked, _ACCOUNT, *notes))
    return f"Made by `python -m tools.chart` from charts/innodb-advisor; docs/kubernetes.md explains it.\n\n{body}"


_CONFIGURE = "If pods cannot share their process namespace, set cores and memory in the sidecar's configuration."


def _sees(ids: str, where: str = "") -> str:
    return (
        "Some rules need the server's cores, memory and disk. To make them visible, set shareProcessNamespace: true "
        f"for the pod and give the sidecar the server's uid and gid ({ids}), or set them in its configuration. {where}"
    ).strip()


def _native(container: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    pod = {"initContainers": [container], "volumes": list(volumes)}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "mysql"},
        "spec": {"template": {"spec": pod}},
    }


def _bitnami(container: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "primary": {"sidecars": [container], "extraVolumes": list(volumes)},
        "networkPolicy": {"extraIngress": [{"ports": [{"port": 9747, "protocol": "TCP"}]}]},
    }


def _percona(container: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "ps.percona.com/v1",
        "kind": "PerconaServerMySQL",
        "metadata": {"name": "cluster1"},
        "spec": {"mysql": {"sidecars": [container], "sidecarVolumes": list(volumes)}},
    }


def _oracle(container: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "mysql.oracle.com/v2",
        "kind": "InnoDBCluster",
        "metadata": {"name": "mycluster"},
        "spec": {"podSpec": {"containers": [container], "volumes": list(volumes)}},
    }


def _moco(container: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    mysqld = {"name": "mysqld", "image": "as-you-have-it"}
    return {
        "apiVersion": "moco.cybozu.com/v1beta2",
        "kind": "MySQLCluster",
        "metadata": {"name": "cluster1"},
        "spec": {"podTemplate": {"spec": {"containers": [mysqld, container], "volumes": list(volumes)}}},
    }


def _vitess(container: Mapping[str, Any], volumes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    pool = {
        "cell": "zone1",
        "type": "replica",
        "sidecarContainers": [container],
        "extraVolumes": list(volumes),
        "annotations": {"kubectl.kubernetes.io/default-container": "vttablet"},
    }
    equal = {"shardTemplate": {"tabletPools": [pool]}}
    return {
        "apiVersion": "planetscale.com/v2",
        "kind": "VitessCluster",
        "metadata": {"name": "example"},
        "spec": {"keyspaces": [{"name": "commerce", "partitionings": [{"equal": equal}]}]},
    }


SNIPPETS = (
    Snippet(
        "native",
        _head(
            "The sidecar in a StatefulSet or Deployment of your own, as a native sidecar: Kubernetes 1.29 and later.",
            "Before 1.29 put the container under containers: and leave restartPolicy out.",
            "It starts before the server, ends after it and waits for neither: it reports a server that is down.",
            _sees("999 in the official images"),
        ),
        "Add this to the pod template; the metadata and everything else are yours.",
        {"app.kubernetes.io/name": "mysql"},
        _native,
        native=True,
    ),
    Snippet(
        "bitnami-mysql",
        _head(
            "The sidecar in Bitnami's chart mysql.",
            "Checked against bitnami/charts: bitnami/mysql/templates/primary/statefulset.yaml at 7587d195, "
            "networkpolicy.yaml at 79f86ccc. For replicas repeat it under secondary:.",
            "The chart has a NetworkPolicy by default, which must let Prometheus in. Its values go through helm's tpl: "
            "two braces in them start a template. Its own exporter's port is named metrics, so this one has another "
            "name.",
            _sees("1001", "The chart has primary.extraPodSpec for that."),
        ),
        "For the values of the chart.",
        {
            "app.kubernetes.io/name": "mysql",
            "app.kubernetes.io/instance": "my-release",
            "app.kubernetes.io/component": "primary",
        },
        _bitnami,
    ),
    Snippet(
        "percona-server",
        _head(
            "The sidecar in Percona's operator for MySQL based on Percona Server.",
            "Checked against percona/percona-server-mysql-operator: pkg/mysql/mysql.go at 00b42933 (crVersion 1.3.0); "
            "before 1.0 the version is ps.percona.com/v1alpha1. The operator for XtraDB Cluster takes sidecars and "
            "sidecarVolumes under spec.pxc.",
            "kubectl patch ps cluster1 --type merge --patch-file FILE applies only the middle part, and replaces all "
            "existing sidecars. The operator silently drops a sidecar with the name of another container of the pod "
            "(mysql, xtrabackup, pt-heartbeat).",
            _CONFIGURE,
        ),
        "Add this to the custom resource.",
        {"app.kubernetes.io/instance": "cluster1", "app.kubernetes.io/component": "database"},
        _percona,
    ),
    Snippet(
        "oracle-mysql-operator",
        _head(
            "The sidecar in Oracle's MySQL Operator for Kubernetes.",
            "Checked against mysql/mysql-operator: mysqloperator/controller/innodbcluster/cluster_objects.py at "
            "d7c992b8, deploy/deploy-crds.yaml at b8da6259.",
            "The operator merges podSpec into its own pod, containers by name: sidecar and mysql are taken. Add it "
            "when you create the cluster: a later change may not reach the pods.",
            _sees("27", "podSpec takes shareProcessNamespace."),
        ),
        "Add this to the custom resource.",
        {"component": "mysqld", "mysql.oracle.com/cluster": "mycluster"},
        _oracle,
    ),
    Snippet(
        "moco",
        _head(
            "The sidecar in MOCO.",
            "Checked against cybozu-go/moco: api/v1beta2/mysqlcluster_types.go at 11707677.",
            "MOCO's webhook keeps the names of the containers agent, slow-log and mysqld-exporter and of the volumes "
            "tmp, run, var-log, mysql-conf, mysql-conf-d, my-cnf-secret and slow-fluent-bit-config for itself.",
            _sees("10000", "The pod template takes shareProcessNamespace."),
        ),
        "Add this to the custom resource, next to your own mysqld.",
        {"app.kubernetes.io/name": "mysql", "app.kubernetes.io/instance": "cluster1"},
        _moco,
    ),
    Snippet(
        "vitess",
        _head(
            "The sidecar in the operator for Vitess.",
            "Checked against planetscale/vitess-operator: pkg/operator/vttablet/pod.go at 03eede84, "
            "pkg/apis/planetscale/v2/labels.go at 28db428a. Custom partitionings have tabletPools under custom.shards.",
            "Each shard replicates separately: create the account on the primary of each, or in the init_db.sql of "
            "databaseInitScriptSecret. It is an account of the tablet's mysqld, not of vtgate.",
            "The operator puts sidecars before vttablet: without the annotation kubectl logs and exec would use the "
            "sidecar. Its own exporter's port is named metrics, so this one has another name.",
            _CONFIGURE,
        ),
        "Add this to each tablet pool of the custom resource.",
        {"planetscale.com/component": "vttablet", "planetscale.com/cluster": "example"},
        _vitess,
    ),
)
