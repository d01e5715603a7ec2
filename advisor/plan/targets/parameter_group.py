"""Parameter groups of Amazon RDS and Aurora, in Terraform and in Crossplane."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from advisor.contract.plan import Applied, RollOut, TargetName
from advisor.contract.recommendation import Change
from advisor.plan.targets.manifest import Place
from advisor.plan.targets.operator import Operator, overridden
from advisor.plan.targets.target import Patches, PlanRefused, Reach, taken_back, written
from exporter.server import Server

AMAZON = Reach(services=("rds", "aurora"))
FORMULA = {
    "innodb_buffer_pool_size": "The group's default is a formula of the instance class's memory: with the line the "
    "pool does not move with the class any more."
}
_WHERE = (
    "# Into the aws_db_parameter_group of the instance (Aurora: or the aws_rds_cluster_parameter_group), in the\n"
    "# place of a block with the same name.\n"
)
_SWITCHED = {"ON": "1", "OFF": "0"}
_SOURCES = (
    "documents of the AWS provider (aws_db_parameter_group), of its form for Crossplane, and of RDS (parameter groups)"
)


def parameter_list(present: Any, changes: tuple[Change, ...], server: Server) -> Mapping[Place, Any]:  # noqa: ARG001 - the same for all servers
    """A list of parameters with name, value and applyMethod: each in the place of that with its name, or at the end.

    Raises:
        PlanRefused: It is no list of parameters.
    """
    if not isinstance(present or [], list) or not all(isinstance(item, Mapping) for item in present or []):
        raise PlanRefused("The manifest has no list of parameters where they belong.")
    names = [item.get("name") for item in present or []]
    if not names:
        return {(): [_parameter(change) for change in changes]}
    edits: dict[Place, Any] = {}
    for change in changes:
        if change.setting not in names:
            names.append(change.setting)
        edits[(names.index(change.setting),)] = _parameter(change)
    return edits


def in_group(changes: tuple[Change, ...], tool: str) -> RollOut:
    """What RDS does with parameters: it sets the running instances, or leaves them to the next reboot."""
    static = ", ".join(change.setting for change in changes if not change.dynamic)
    how = f"{tool} changes the group, and RDS sets the parameter on every running instance of it, in no fixed order."
    if static:
        how = f"{tool} changes the parameter group. {static} counts from the instance's next reboot, which you order."
    return RollOut(
        applied=Applied.BY_HAND if static else Applied.LIVE,
        how=how,
        source=_SOURCES,
        sure=True,
        overrides=overridden(FORMULA, changes),
    )


class Terraform:
    """The provider of AWS in Terraform and OpenTofu. A configuration is not read: code may make its blocks."""

    name: TargetName = "terraform"
    reach = AMAZON
    memory_applied = Applied.RESTART

    def settings(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> Patches:  # noqa: ARG002 - HCL is not read
        """Blocks to put into the group."""
        texts = _blocks(changes), _blocks(map(taken_back, changes))
        return Patches.of("parameters.tf", "HCL", texts, whole=False)

    def memory(self, before: int, after: int, manifest: str | None) -> Patches | None:  # noqa: ARG002 - as all owners
        """None: the instance class has the memory."""
        return None

    def roll_out(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> RollOut:  # noqa: ARG002 - HCL is not read
        """At once or at the next reboot, by apply_method."""
        return in_group(changes, "terraform apply")


@dataclass(frozen=True, slots=True)
class ParameterGroup(Operator):
    """The provider of AWS in Crossplane."""

    def roll_out(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> RollOut:  # noqa: ARG002 - the same for all objects
        """At once or at the next reboot, by applyMethod."""
        return in_group(changes, "Crossplane")


def _blocks(changes: Iterable[Change]) -> str:
    return _WHERE + "".join(map(_block, changes))


def _block(change: Change) -> str:
    values = _parameter(change)
    return (
        "parameter {\n"
        f'  name         = "{values["name"]}"\n'
        f'  value        = "{values["value"]}"\n'
        f'  apply_method = "{values["applyMethod"]}"\n'
        "}\n"
    )


def _parameter(change: Change) -> dict[str, str]:
    """A parameter of Amazon's groups: switches are 0 and 1 there, and all values are texts."""
    value = written(change.to)
    return {
        "name": change.setting,
        "value": _SWITCHED.get(value, value),
        "applyMethod": "immediate" if change.dynamic else "pending-reboot",
    }
