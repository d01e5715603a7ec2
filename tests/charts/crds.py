"""Schemas of the custom resources used here; Kubernetes' own schemas lack them.

Taken from prometheus-operator's example/prometheus-operator-crd (0.87.0 for the monitors, 0.76.0 for rules), in
mysql-operator's deploy/deploy-crds.yaml, and the others from the Go types of their definitions.
Containers and volumes are checked as those of a pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]
_DURATION = r"^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"
_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_NAMED = {"type": "array", "items": {"type": "object", "required": ["name"]}}


def _object(required: str = "", **properties: Schema) -> Schema:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": required.split(),
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _resource(version: str, kind: str, spec: Schema) -> Schema:
    about = _object("name", name=_TEXT, namespace=_TEXT, labels=_TEXTS, annotations=_TEXTS)
    return _object(
        "apiVersion kind metadata spec", apiVersion={"const": version}, kind={"const": kind}, metadata=about, spec=spec
    )


_KEY = _object("key", key=_TEXT, name=_TEXT, optional={"type": "boolean"})
_FILE = _object(configMap=_KEY, secret=_KEY)
_TLS = {"enum": ["TLS10", "TLS11", "TLS12", "TLS13"]}
_RELABELING = _object(
    action={
        "enum": [
            name
            for action in (
                *("Replace", "Keep", "Drop", "HashMod", "LabelMap", "LabelDrop", "LabelKeep"),
                *("Lowercase", "Uppercase", "KeepEqual", "DropEqual"),
            )
            for name in (action, action.lower())
        ]
    },
    modulus={"type": "integer"},
    regex=_TEXT,
    replacement=_TEXT,
    separator=_TEXT,
    sourceLabels=_list(_TEXT),
    targetLabel=_TEXT,
)
_ENDPOINT = _object(
    "port",
    port=_TEXT,
    path=_TEXT,
    scheme={"enum": ["http", "https"]},  # HTTP and HTTPS came later
    interval={"type": "string", "pattern": _DURATION},
    scrapeTimeout={"type": "string", "pattern": _DURATION},
    basicAuth=_object(username=_KEY, password=_KEY),
    tlsConfig=_object(
        ca=_FILE,
        cert=_FILE,
        keySecret=_KEY,
        insecureSkipVerify={"type": "boolean"},
        serverName=_TEXT,
        minVersion=_TLS,
        maxVersion=_TLS,
    ),
    relabelings=_list(_RELABELING),
    metricRelabelings=_list(_RELABELING),
)
_SELECTOR = _object(
    matchLabels=_TEXTS,
    matchExpressions=_list(_object("key operator", key=_TEXT, operator=_TEXT, values=_list(_TEXT))),
)
_NAMESPACES = _object(any={"type": "boolean"}, matchNames=_list(_TEXT))
_RULE = {
    **_object(
        "expr",
        alert=_TEXT,
        record=_TEXT,
        expr={"type": ["string", "integer"]},
        **{"for": {"type": "string", "pattern": _DURATION}},
        keep_firing_for={"type": "string", "pattern": _DURATION, "minLength": 1},
        labels=_TEXTS,
        annotations=_TEXTS,
    ),
    "oneOf": [{"required": ["alert"]}, {"required": ["record"]}],
}
_GROUP = _object(
    "name",
    name={"type": "string", "minLength": 1},
    interval={"type": "string", "pattern": _DURATION},
    limit={"type": "integer"},
    rules=_list(_RULE),
)
_POOL = _object("cell type", cell=_TEXT, type=_TEXT, sidecarContainers=_NAMED, extraVolumes=_NAMED, annotations=_TEXTS)

SCHEMAS: Mapping[str, Schema] = {
    "PodMonitor": _resource(
        "monitoring.coreos.com/v1",
        "PodMonitor",
        _object(
            "selector podMetricsEndpoints",
            selector=_SELECTOR,
            namespaceSelector=_NAMESPACES,
            podMetricsEndpoints=_list(_ENDPOINT),
        ),
    ),
    "ServiceMonitor": _resource(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        _object("selector endpoints", selector=_SELECTOR, namespaceSelector=_NAMESPACES, endpoints=_list(_ENDPOINT)),
    ),
    "PrometheusRule": _resource("monitoring.coreos.com/v1", "PrometheusRule", _object(groups=_list(_GROUP))),
    "PerconaServerMySQL": _resource(
        "ps.percona.com/v1", "PerconaServerMySQL", _object(mysql=_object(sidecars=_NAMED, sidecarVolumes=_NAMED))
    ),
    "InnoDBCluster": _resource(
        "mysql.oracle.com/v2", "InnoDBCluster", _object(podSpec=_object(containers=_NAMED, volumes=_NAMED))
    ),
    "MySQLCluster": _resource(
        "moco.cybozu.com/v1beta2",
        "MySQLCluster",
        _object(podTemplate=_object("spec", spec=_object("containers", containers=_NAMED, volumes=_NAMED))),
    ),
    "VitessCluster": _resource(
        "planetscale.com/v2",
        "VitessCluster",
        _object(
            keyspaces=_list(
                _object(
                    "name",
                    name=_TEXT,
                    partitionings=_list(
                        _object(equal=_object(shardTemplate=_object(tabletPools=_list(_POOL)))),
                    ),
                )
            )
        ),
    ),
}
"""JSON schemas by kind: stricter than the definitions, as they have nothing that is not used here."""
