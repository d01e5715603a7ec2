"""`lru`: a scenario on the model of the LRU list."""

from __future__ import annotations

import json
from pathlib import Path

import click
from pydantic import ValidationError

from advisor.files.yaml_file import FileError, read
from advisor.models.lru.scenario import Pass, Scenario
from advisor.models.lru.simulation import simulate

_KINDS = frozenset({"scan", "points", "set", "repeat"})


def lru(*, scenario: Path, as_json: bool) -> None:
    """Print every pass.

    Raises:
        FileError: The scenario cannot be used.
    """
    source = read(scenario, Scenario, "a scenario is a mapping with pool and steps", _KINDS)
    try:
        passes = simulate(source.content).passes
    except ValidationError as error:  # each setting is valid, but not all of them together
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise FileError(f"{scenario}: {message} after a step of set") from error
    if as_json:
        for each in passes:
            click.echo(json.dumps(_in_whole_pages(each)))
        return
    from advisor.render import model_text, terminal  # noqa: PLC0415 - only text needs rich

    model_text.print_passes(terminal.console(), passes)


def _in_whole_pages(one: Pass) -> dict[str, str | int]:
    return {
        "step": one.step,
        "object": one.object,
        "pass": one.number,
        "pages_read": round(one.pages_read),
        "made_young": round(one.made_young),
        "not_made_young": round(one.not_made_young),
        "young_pages": round(one.young_pages),
        "old_pages": round(one.old_pages),
        "free_pages": round(one.free_pages),
    }
