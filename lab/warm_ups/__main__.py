"""`python -m lab.warm_ups`: judge the warm-ups in the miss curves' recordings, which stay in the cache."""

from __future__ import annotations

import sys

import click

from lab.reports import criterion
from lab.warm_ups import judge


@click.command()
def main() -> None:
    """Judge the recordings anew, and write lab/records/warm-ups-recorded.json.

    Exit status: 0 the bounds hold, 1 they don't, 2 there are no recordings: run make lab EXPERIMENT=curves.
    """
    try:
        record = judge.record()
    except FileNotFoundError as error:
        click.echo(f"there is no {error}: make lab EXPERIMENT=curves makes the recordings", err=True)
        sys.exit(2)
    failures = list(criterion.broken(judge.criteria(judge.recorded(record))))
    for text in failures:
        click.echo(f"BROKEN {text}")
    click.echo("python -m tools.docs brings docs/proofs.md up to date")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
