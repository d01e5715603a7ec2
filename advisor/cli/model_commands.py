"""The commands that ask the model of the LRU list: whatif, of a server, and lru, of a scenario in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.cli.command import (
    Unusable,
    clear_errors,
    ending,
    refuse_missing_privileges,
    watch_options,
    watched,
    where_options,
)
from advisor.cli.options import Where

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
  pool may also have instances, and free_low and free_high, between which MariaDB's page cleaner
  keeps the free list (half of innodb_lru_scan_depth and all of it; 0, as on MySQL: none is kept).
  While something is written, MySQL keeps free_high every refill_seconds: 1.
  scan may have fetch: scan, for MySQL's parallel readers. {repeat: 3, steps: […]} does steps again.

"""


class Assignment(click.ParamType[tuple[str, str]]):
    """``innodb_old_blocks_pct=80``."""

    name = "setting"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split it; click reports a failure."""
        if isinstance(value, tuple):
            return value
        name, equals, wanted = str(value).partition("=")
        if not (name.strip() and equals and wanted.strip()):
            self.fail(f"{value!r} is not a setting and its value, such as innodb_old_blocks_pct=80", param, ctx)
        return name.strip().lower(), wanted.strip()


def _each_once(
    ctx: click.Context, param: click.Parameter, values: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    names = [name for name, _ in values]
    for name in names:
        if names.count(name) > 1:
            raise click.BadParameter(f"{name} is set twice", ctx, param)
    return values


@click.command(
    epilog=ending(
        "whatif --defaults-file ~/.my.cnf --watch 5m --set innodb_old_blocks_pct=80",
        "whatif --recording busy-hour.jsonl.gz --set innodb_buffer_pool_size=4G --format json",
    )
)
@where_options
@click.option(
    "--set",
    "settings",
    type=Assignment(),
    multiple=True,
    required=True,
    callback=_each_once,
    metavar="NAME=VALUE",
    help="A setting and the value to try; several go together.",
)
@watch_options
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def whatif(
    *, settings: tuple[tuple[str, str], ...], watch: float, interval: float | None, style: str, **options: Any
) -> None:
    """Say what a change of settings would do to the pages that are read.

    Watches for a while, fits the model of the LRU list to what it saw, and asks it: for every scanned table the
    pages read per pass and per second now and then, how many passes it takes until it is cached, and what the hot
    set would lose. Nothing is changed. The model answers for innodb_old_blocks_pct, innodb_old_blocks_time,
    innodb_buffer_pool_size, innodb_parallel_read_threads and, on MariaDB, innodb_lru_scan_depth.
    """
    from advisor.whatif.calibration import Unanswerable  # noqa: PLC0415 - each command imports what it needs
    from advisor.whatif.model import Refused, what_if  # noqa: PLC0415

    with clear_errors():
        seen = watched(Where.of(**options), watch, interval)
    try:
        answer = what_if(seen, dict(settings))
    except Refused as error:
        raise Unusable(str(error)) from error
    except Unanswerable as error:
        refuse_missing_privileges(seen.latest)
        raise Unusable(f"the model has no answer: {error}") from error
    if style == "json":
        click.echo(answer.model_dump_json(by_alias=True, indent=2))
        return
    from advisor.render import model_text  # noqa: PLC0415 - rich is only needed to show something to people
    from advisor.render.text import console  # noqa: PLC0415

    model_text.print_what_if(console(), answer)


@click.command(epilog=_SCENARIO + ending("lru seasons.yaml", "lru seasons.yaml --json"))
@click.argument("scenario", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object a pass, a line each.")
def lru(*, scenario: Path, as_json: bool) -> None:
    """Play a scenario from a file on the model of the LRU list.

    Shows for every pass of a scan, and for every step of point accesses, the pages it read from disk, those it made
    young and those it did not (they stayed in the old sublist because innodb_old_blocks_time was not over), and the
    young, old and free pages after it. No server is needed.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - as above

    from advisor.files.yaml_file import FileError, read  # noqa: PLC0415
    from advisor.models.lru.scenario import Scenario  # noqa: PLC0415
    from advisor.models.lru.simulation import simulate  # noqa: PLC0415

    with clear_errors():
        source = read(scenario, Scenario, "a scenario is a mapping with pool and steps", _KINDS)
        try:
            passes = simulate(source.content).passes
        except ValidationError as error:  # settings that are right each, but not together
            message = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise FileError(f"{scenario}: {message} after a step of set") from error
    if as_json:
        for each in passes:
            click.echo(json.dumps(_whole(each)))
        return
    from advisor.render import model_text  # noqa: PLC0415 - rich is only needed to show something to people
    from advisor.render.text import console  # noqa: PLC0415

    model_text.print_passes(console(), passes)


def _whole(one: Pass) -> dict[str, str | int]:
    """A pass as a line of --json: pages are whole numbers there."""
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
