"""KubeBlocks: a change is an object of its own, an OpsRequest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from advisor.contract.plan import Applied, RollOut, TargetName
from advisor.contract.recommendation import Change
from advisor.plan.targets.manifest import Manifest, at, read, yaml_text
from advisor.plan.targets.operator import NAME, quantity
from advisor.plan.targets.target import Patches, Reach, taken_back, written
from exporter.server import Server

_UNLISTED = ("innodb_ddl_buffer_size", "innodb_ddl_threads")
"""Dynamic variables that the addon knows neither as dynamic nor as static: it restarts for them."""
_SOURCE = "kubeblocks-addons, addons/mysql/config/mysql8-config-effect-scope.yaml"
_LIVE = "KubeBlocks sets the parameters on the running servers: all of them are in the addon's list of dynamic ones."
_RESTART = "KubeBlocks restarts the component: {} not in the addon's list of dynamic parameters."


class KubeBlocks:
    """KubeBlocks with its addon of MySQL. The manifest is the Cluster."""

    name: TargetName = "kubeblocks"
    reach = Reach(families=("mysql",))
    memory_applied = Applied.RESTART

    def settings(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> Patches:  # noqa: ARG002 - the same for all servers
        """A request to reconfigure, and one with the old values. Raises PlanRefused."""
        parameters = (
            {"parameters": [{"key": change.setting, "value": written(change.to)} for change in some]}
            for some in (changes, map(taken_back, changes))
        )
        return _requests(_cluster(manifest), "settings.yaml", "Reconfiguring", "reconfigures", parameters)

    def memory(self, before: int, after: int, manifest: str | None) -> Patches | None:
        """A request to scale; what the cluster has beside memory stays. Raises PlanRefused."""
        cluster = _cluster(manifest)
        present = {kind: dict(at(_component(cluster), ("resources", kind)) or {}) for kind in ("requests", "limits")}
        forward = {kind: resources | {"memory": quantity(after)} for kind, resources in present.items()}
        back = {kind: resources for kind, resources in present.items() if resources}
        if cluster is None:
            back = {"limits": {"memory": quantity(before)}}
        return _requests(cluster, "memory.yaml", "VerticalScaling", "verticalScaling", (forward, back))

    def roll_out(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> RollOut:  # noqa: ARG002 - the same for all clusters
        """Live if the addon's list has all of them as dynamic."""
        static = [change.setting for change in changes if not change.dynamic or change.setting in _UNLISTED]
        some = f"{', '.join(static)} {'is' if len(static) == 1 else 'are'}"
        return RollOut(
            applied=Applied.RESTART if static else Applied.LIVE,
            how=_RESTART.format(some) if static else _LIVE,
            source=_SOURCE,
            sure=True,
        )


def _cluster(manifest: str | None) -> Manifest | None:
    return None if manifest is None else read(manifest, ("Cluster",))["Cluster"]


def _component(cluster: Manifest | None) -> Mapping[str, Any] | None:
    """The component that runs MySQL: the only one, or that of the addon."""
    components = [item for item in at(cluster, ("spec", "componentSpecs")) or () if isinstance(item, dict)]
    if len(components) == 1:
        return components[0]
    return next((item for item in components if "mysql" in (item.get("name"), str(item.get("componentDef"))[:5])), None)


def _requests(
    cluster: Manifest | None, file: str, kind: str, key: str, changes: Iterable[Mapping[str, Any]]
) -> Patches:
    """Requests for a change of the component and for the way back; ``key`` is where a request has it."""
    component = _component(cluster)
    about = at(cluster, ("metadata",)) or {}
    name = str(about.get("name", NAME))
    namespace = {"namespace": about["namespace"]} if about.get("namespace") else {}

    patch, undo = (
        yaml_text(
            {
                "apiVersion": "operations.kubeblocks.io/v1alpha1",
                "kind": "OpsRequest",
                "metadata": {"generateName": f"{name.lower()}-", **namespace},
                "spec": {
                    "clusterName": name,
                    "type": kind,
                    key: [{"componentName": (component or {}).get("name", "mysql"), **change}],
                },
            }
        )
        for change in changes
    )
    command = "kubectl create --filename="
    return Patches.of(file, "OpsRequest", (patch, undo), command=command, whole=component is not None)
