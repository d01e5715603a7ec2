"""The owners of settings: where a line goes, and what they do with it."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.contract.plan import TargetName
from advisor.plan.targets.ansible import Ansible
from advisor.plan.targets.helm_values import Bitnami
from advisor.plan.targets.kubeblocks import KubeBlocks
from advisor.plan.targets.operators import OPERATORS
from advisor.plan.targets.option_file import CnfFile
from advisor.plan.targets.parameter_group import Terraform
from advisor.plan.targets.target import Target

_ALL: tuple[Target, ...] = (CnfFile(), *OPERATORS, Bitnami(), KubeBlocks(), Terraform(), Ansible())
TARGETS: Mapping[TargetName, Target] = {target.name: target for target in _ALL}
"""By name."""
