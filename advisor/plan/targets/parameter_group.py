"""Parameter groups of Amazon RDS and Aurora, in Terraform and in Crossplane."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.contract.plan import Applied, Patch, RollOut, TargetName
from advisor.plan.targets.forms import parameter
from advisor.plan.targets.operator import Conduct, Operator
from advisor.plan.targets.target import MemorySize, Patches, Reach, SettingLine
from exporter.server import Server

AMAZON = Reach(services=("rds", "aurora"))
_FORMULA = {
    "innodb_buffer_pool_size": "The group's default is a formula of the instance class's memory: with the line the "
    "pool does not move with the class any more."
}
_WHERE = "# Into the aws_db_parameter_group of the instance (Aurora: or the aws_rds_cluster_parameter_group), in the\n"
_INSTEAD = "# place of a block with the same name.\n"
_SOURCES = (
    "documents of the AWS provider (aws_db_parameter_group), of its form for Crossplane, and of RDS (parameter groups)"
)


def in_group(lines: tuple[SettingLine, ...], tool: str) -> Conduct:
    """What RDS does with parameters: it sets the running instances, or leaves them to the next reboot."""
    static = ", ".join(line.setting for line in lines if not line.dynamic)
    if static:
        how = f"{tool} changes the parameter group. {static} counts from the instance's next reboot, which you order."
        return Conduct(Applied.BY_HAND, how, _SOURCES, overrides=_FORMULA)
    how = f"{tool} changes the group, and RDS sets the parameter on every running instance of it, in no fixed order."
    return Conduct(Applied.LIVE, how, _SOURCES, overrides=_FORMULA)


@dataclass(frozen=True, slots=True)
class Terraform:
    """The provider of AWS in Terraform and OpenTofu. A configuration is not read: code may make its blocks."""

    name: TargetName = "terraform"
    memory_applied: Applied = Applied.RESTART

    def settings(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> Patches:  # noqa: ARG002 - HCL is not read
        """Blocks to put into the group. Raises PlanRefused."""
        AMAZON.refuse(self.name, server)
        back = tuple(line.back for line in lines)
        forward, undo = (
            Patch(file=file, form="HCL", text=_WHERE + _INSTEAD + "".join(map(_block, some)), whole=False)
            for file, some in (("parameters.tf", lines), ("undo-parameters.tf", back))
        )
        return Patches(forward, undo)

    def memory(self, before: MemorySize, after: MemorySize, manifest: str | None) -> Patches | None:  # noqa: ARG002 - as all owners
        """None: the instance class has the memory."""
        return None

    def roll_out(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> RollOut:  # noqa: ARG002 - HCL is not read
        """At once or at the next reboot, by apply_method. Raises PlanRefused."""
        AMAZON.refuse(self.name, server)
        return in_group(lines, "terraform apply").roll_out(lines)


@dataclass(frozen=True, slots=True)
class ParameterGroup(Operator):
    """The provider of AWS in Crossplane."""

    def roll_out(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> RollOut:
        """At once or at the next reboot, by applyMethod. Raises PlanRefused."""
        self.reach.refuse(self.name, server)
        self.home(manifest)
        return in_group(lines, "Crossplane").roll_out(lines)


def _block(line: SettingLine) -> str:
    values = parameter(line)
    return (
        "parameter {\n"
        f'  name         = "{values["name"]}"\n'
        f'  value        = "{values["value"]}"\n'
        f'  apply_method = "{values["applyMethod"]}"\n'
        "}\n"
    )
