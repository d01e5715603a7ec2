"""The pictures and the example of docs/lru-model.md match the model's current output."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from advisor.models.lru import simulation
from advisor.models.lru.scenario import Scenario
from lab.reports import pictures
from tools import plots

DOCUMENT = pictures.FOLDER.parent / "lru-model.md"
OFF = 2  # pages: another machine may round otherwise


def flat(data: Any) -> list[float]:
    """All numbers of a picture in order."""
    if isinstance(data, dict):
        return [number for key in sorted(data) for number in flat(data[key])]
    return [number for part in data for number in flat(part)] if isinstance(data, list) else [data]


@pytest.mark.parametrize("name", plots.PICTURES)
def test_a_picture_shows_what_the_model_gives_now(name: str) -> None:
    drawn = flat(pictures.shown(pictures.FOLDER / f"{name}.svg"))
    assert drawn == pytest.approx(flat(plots.PICTURES[name][0]()), abs=OFF), "run: .venv/bin/python -m tools.plots"


def test_the_same_numbers_give_the_same_file(tmp_path: Path) -> None:
    one, other = (tmp_path / name / "e3-steps.svg" for name in ("one", "other"))
    for path in (one, other):
        path.parent.mkdir()
    plots.render("e3-steps", one)
    plots.render("e3-steps", other)
    text = one.read_text(encoding="utf-8")
    assert text == other.read_text(encoding="utf-8")
    assert "#ffffff" not in text  # no background of its own
    assert "pages read from disk" in text


def test_model_and_server_take_the_same_steps() -> None:
    data = plots.e3_steps()
    measured, model = data["mariadb_measured"], data["mariadb_model"]
    assert [pages == 0 for pages in measured] == [pages == 0 for pages in model]
    assert model == pytest.approx(measured, abs=0.05 * measured[0])
    assert data["mysql_model"] == pytest.approx(data["mysql_measured"], rel=0.005)


def test_the_table_takes_the_list_over_from_the_head() -> None:
    data = plots.e3_list()
    held = [sum(own for own, _ in after["stretches"]) for after in data["passes"]]
    assert len(held) == 5
    assert held[0] < held[1] < held[2] == pytest.approx(max(held), abs=10)
    assert all(sum(map(sum, after["stretches"])) <= data["pool"] for after in data["passes"])


def test_the_document_shows_every_picture_and_nothing_from_elsewhere() -> None:
    images = re.findall(r"!\[[^]]+\]\(([^)]+)\)", DOCUMENT.read_text(encoding="utf-8"))
    assert sorted(images) == sorted(f"img/{name}.svg" for name in plots.PICTURES)
    assert sorted(path.stem for path in pictures.FOLDER.glob("*.svg")) == sorted(plots.PICTURES)


def test_the_documents_example_is_what_the_model_says() -> None:
    example = re.search(r"```yaml\n(.*?)```\s+```\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    scenario = Scenario.model_validate(YAML(typ="safe").load(example[1]))
    printed = [line.replace(",", "").split() for line in example[2].splitlines()[1:]]
    for line, model_pass in zip(printed, simulation.simulate(scenario).passes, strict=True):
        assert line[1] == model_pass.object
        numbers = [float(word) for word in (line[0], *line[2:])]
        assert numbers == pytest.approx([model_pass.step, *model_pass[2:]], rel=0.02, abs=20)
