"""A server that no registry has takes the proofs and workloads of its stand-in."""

import click
import pytest
from click.testing import CliRunner

from lab.__main__ import main as lab
from lab.gauntlet.__main__ import main as gauntlet
from lab.servers import stand_in


def parts(command: click.Command, *arguments: str) -> list[str]:
    """Of the command's list, without their seconds and the sum."""
    listed = CliRunner().invoke(command, ["--list", *arguments])
    assert listed.exit_code == 0, listed.output
    return [line.partition(" s  ")[2] for line in listed.output.splitlines()[:-1]]


@pytest.mark.parametrize("name", ["mysql-8.0", "mysql-8.4"])
@pytest.mark.parametrize("command", [lab, gauntlet], ids=["proofs", "gauntlet"])
def test_it_takes_the_parts_of_its_stand_in(command: click.Command, name: str) -> None:
    arguments = ["--proofs"] if command is lab else []
    model = stand_in(name)
    own, others = (parts(command, *arguments, "--server", server) for server in (name, model))
    assert own == [part.replace(model, name) for part in others]
    assert own


def test_an_experiment_on_it_is_refused() -> None:
    refused = CliRunner().invoke(lab, ["--experiment", "E1", "--server", "mysql-8.0"])
    assert refused.exit_code == 2
    assert "take proofs, and no experiments" in refused.output
