"""`lru`: a scenario on the model of the LRU list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.cli.output import epilog

if TYPE_CHECKING:
    from advisor.models.lru.scenario import Pass

_KINDS = frozenset({"scan", "points", "set", "repeat"})
_SCENARIO = """
\b
A scenario, seasons.yaml, of a table that is scanned before and after a change:
  pool: {pages: 16382, old_blocks_pct: 37, old_blocks_time_ms: 1000}
  steps:
    - {scan: archive, pages: 18000}                           # fills the pool
    - {scan: orders, pages: 9258, passes: 5, seconds: 0.2, gap_seconds: 2}
    - {points: customers, pages: 2900, accesses: 6000, seconds: 5, skew: 0.8}
    - {set: {old_blocks_pct: 60}}
    - {scan: orders, pages: 9258, passes: 5, seconds: 0.2, gap_seconds: 2}
  pool may also have instances, free_low and free_high. Once the free list is shorter than
  free_low, the page cleaner fills it up to free_high; on MariaDB these are half of
  innodb_lru_scan_depth and all of it. With refill_seconds: 1 it fills it every second instead,
  as MySQL does while there are writes. By default no free list is kept.
  scan may have fetch: scan, for MySQL's parallel readers. {repeat: 3, steps: […]} repeats steps.

"""


@click.command(epilog=_SCENARIO + epilog("lru seasons.yaml", "lru seasons.yaml --json"))
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object per pass, each on a line.")
def lru(*, scenario: Path, as_json: bool) -> None:
    """Play a scenario from a file on the model of the LRU list.

    Shows, for every pass of a scan and for every step of point accesses: the pages read from disk, the pages made
    young, the pages not made young because innodb_old_blocks_time was not over, and the young, old and free pages
    afterwards. No server is needed.
    """
    from pydantic import ValidationError

    from advisor.files.yaml_file import FileError, read
    from advisor.models.lru.scenario import Scenario
    from advisor.models.lru.simulation import simulate

    source = read(scenario, Scenario, "a scenario is a mapping with pool and steps", _KINDS)
    try:
        passes = simulate(source.content).passes
    except ValidationError as error:  # each setting is valid, but not all of them together
        message = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise FileError(f"{scenario}: {message} after a step of set") from error
    if as_json:
        for scenario_pass in passes:
            click.echo(json.dumps(_in_whole_pages(scenario_pass)))
    else:
        from advisor.cli.output import put
        from advisor.render import models

        put(models.passes(passes))


def _in_whole_pages(scenario_pass: Pass) -> dict[str, str | int]:
    return {
        "step": scenario_pass.step,
        "object": scenario_pass.object,
        "pass": scenario_pass.number,
        "pages_read": round(scenario_pass.pages_read),
        "made_young": round(scenario_pass.made_young),
        "not_made_young": round(scenario_pass.not_made_young),
        "young_pages": round(scenario_pass.young_pages),
        "old_pages": round(scenario_pass.old_pages),
        "free_pages": round(scenario_pass.free_pages),
    }
