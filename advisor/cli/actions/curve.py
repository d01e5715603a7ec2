"""`curve`: the reads to expect with other sizes of the buffer pool."""

from __future__ import annotations

from pathlib import Path

import click

from advisor.cli.actions.observation import observed_source, refuse_missing_privileges
from advisor.cli.actions.output import writable, write
from advisor.cli.exits import Unusable
from advisor.cli.options import SourceOptions
from advisor.contract.json_text import json_of
from advisor.pool.answer import MissCurve, answer
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import curve as estimated
from exporter.connection.errors import ServerError


def curve(
    *,
    where: SourceOptions,
    times: tuple[float, ...],
    watch: float,
    interval: float | None,
    style: str,
    output: Path | None,
) -> None:
    """Print the curve.

    Raises:
        Unusable: There is no answer, or the file cannot be written.
        ServerError, RecordingError: There is nothing to look at.
    """
    writable(output)
    source = observed_source(where, watch, interval)
    latest = source.latest
    if latest is None:
        raise source.problem or ServerError("nothing was collected")
    try:
        found = answer(estimated(tuple(source.history), float("inf"), times), str(latest.server))
    except Unanswerable as error:
        refuse_missing_privileges(latest)
        raise Unusable(f"there is no miss curve: {error}") from error
    if output is not None:
        write(output, _written(found, style))
    elif style == "text":
        from advisor.render import curve_text, terminal  # noqa: PLC0415 - only text needs rich

        curve_text.print_curve(terminal.console(), found)
    else:
        click.echo(_written(found, style), nl=False)


def _written(found: MissCurve, style: str) -> str:
    if style == "json":
        return json_of(found, indent=2) + "\n"
    if style == "svg":
        from advisor.render import curve_svg  # noqa: PLC0415 - as above

        return curve_svg.svg(found)
    from advisor.render import curve_text  # noqa: PLC0415 - as above

    return curve_text.plain(found)
