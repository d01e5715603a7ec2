"""KubeBlocks: a change is an object of its own, an OpsRequest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advisor.contract.plan import Applied, Patch, RollOut, TargetName
from advisor.plan.targets.manifest import Manifest, at, read, yaml_text
from advisor.plan.targets.operator import NAME, Conduct, quantity, sizes_of
from advisor.plan.targets.option_block import written
from advisor.plan.targets.target import MemorySize, Patches, Reach, SettingLine
from exporter.server import Server

_MYSQL = Reach(families=("mysql",))
_UNLISTED = ("innodb_ddl_buffer_size", "innodb_ddl_threads")
"""Dynamic variables that the addon knows neither as dynamic nor as static: it restarts for them."""
_SOURCE = "kubeblocks-addons, addons/mysql/config/mysql8-config-effect-scope.yaml"
_LIVE = "KubeBlocks sets the parameters on the running servers: all of them are in the addon's list of dynamic ones."
_RESTART = "KubeBlocks restarts the component: {} not in the addon's list of dynamic parameters."


@dataclass(frozen=True, slots=True)
class KubeBlocks:
    """KubeBlocks with its addon of MySQL. The manifest is the Cluster."""

    name: TargetName = "kubeblocks"
    memory_applied: Applied = Applied.RESTART

    def settings(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> Patches:
        """A request to reconfigure, and one with the old values. Raises PlanRefused."""
        _MYSQL.refuse(self.name, server)
        cluster = _cluster(manifest)
        forward, undo = (
            _request(
                cluster,
                file,
                "Reconfiguring",
                "reconfigures",
                {"parameters": [{"key": line.setting, "value": written(line.after)} for line in some]},
            )
            for file, some in (("settings.yaml", lines), ("undo-settings.yaml", tuple(line.back for line in lines)))
        )
        return Patches(forward, undo)

    def memory(self, before: MemorySize, after: MemorySize, manifest: str | None) -> Patches | None:
        """A request to scale; what the cluster has beside memory stays. Raises PlanRefused."""
        cluster = _cluster(manifest)
        present = {kind: dict(at(_component(cluster), ("resources", kind)) or {}) for kind in ("requests", "limits")}
        old = {kind: {"memory": quantity(size)} for kind, size in sizes_of(before).items()}
        back = present if cluster is not None else old
        new = {kind: {"memory": quantity(size)} for kind, size in sizes_of(after).items()}
        forward = {kind: present[kind] | new.get(kind, {}) for kind in present}
        requests = (
            _request(
                cluster,
                file,
                "VerticalScaling",
                "verticalScaling",
                {kind: resources for kind, resources in some.items() if resources},
            )
            for file, some in (("memory.yaml", forward), ("undo-memory.yaml", back))
        )
        return Patches(*requests)

    def roll_out(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> RollOut:
        """Live if the addon's list has all of them as dynamic. Raises PlanRefused."""
        _MYSQL.refuse(self.name, server)
        _cluster(manifest)
        static = [line.setting for line in lines if not line.dynamic or line.setting in _UNLISTED]
        if not static:
            return Conduct(Applied.LIVE, _LIVE, _SOURCE).roll_out(lines)
        some = f"{', '.join(static)} {'is' if len(static) == 1 else 'are'}"
        return Conduct(Applied.RESTART, _RESTART.format(some), _SOURCE).roll_out(lines)


def _cluster(manifest: str | None) -> Manifest | None:
    return None if manifest is None else read(manifest, ("Cluster",))["Cluster"]


def _component(cluster: Manifest | None) -> Mapping[str, Any] | None:
    """The component that runs MySQL: the only one, or that of the addon."""
    components = [item for item in at(cluster, ("spec", "componentSpecs")) or () if isinstance(item, dict)]
    if len(components) == 1:
        return components[0]
    return next((item for item in components if "mysql" in (item.get("name"), str(item.get("componentDef"))[:5])), None)


def _request(cluster: Manifest | None, file: str, kind: str, key: str, change: Mapping[str, Any]) -> Patch:
    component = _component(cluster)
    about = at(cluster, ("metadata",)) or {}
    name = str(about.get("name", NAME))
    namespace = {"namespace": about["namespace"]} if about.get("namespace") else {}
    text = yaml_text(
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
    return Patch(
        file=file,
        form="OpsRequest",
        text=text,
        command=f"kubectl create --filename={file}",
        whole=component is not None,
    )
