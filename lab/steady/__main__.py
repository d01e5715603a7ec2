"""The steady load's command line: `python -m lab.steady`, or `make steady`."""

from __future__ import annotations

import sys

import click

from lab.harness import records
from lab.processes.program import ProgramFailed
from lab.servers import StartError, Unavailable, interrupt_on_signals
from lab.steady.measurement import measure
from lab.steady.record import NAME, Poll, broken

BROKEN, UNAVAILABLE, INTERRUPTED = 1, 2, 130
HOUR = 3600.0
RECORDED_SECONDS = 1200.0
"""A shorter run proves little: its alerts have just fired."""


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--seconds", default=HOUR, show_default=True, help="After the first finding. Below 1200: no record.")
def main(seconds: float) -> None:
    """Run the load of `make run` for an hour, and count how often each finding comes.

    A real MySQL 9.7, a real sidecar that collects and is asked every 2 s, and a real Prometheus with the shipped
    alerts. Each finding must come once and stay, its alert must begin once and fire.

    The record is lab/records/steady.json, and `python -m tools.docs` makes the section of docs/proofs.md from it.

    Exit status: 0 all is so, 1 it is not, 2 a program is unavailable here, 130 interrupted.
    """
    interrupt_on_signals()
    try:
        found = measure(seconds, progress=_Changes())
    except (Unavailable, StartError, ProgramFailed) as error:
        click.echo(str(error), err=True)
        sys.exit(UNAVAILABLE)
    except KeyboardInterrupt:
        click.echo("\ninterrupted; nothing is left running")
        sys.exit(INTERRUPTED)
    click.echo(found.model_dump_json(indent=1))
    if seconds >= RECORDED_SECONDS:
        path = records.FOLDER / f"{NAME}.json"
        path.write_text(found.model_dump_json(indent=1) + "\n", encoding="utf-8")
        click.echo(f"recorded in lab/records/{path.name}; python -m tools.docs brings docs/proofs.md up to date")
    failures = list(broken(found))
    for text in failures:
        click.echo(f"BROKEN {text}")
    sys.exit(BROKEN if failures else 0)


class _Changes:
    """Prints each finding that comes or goes."""

    def __init__(self) -> None:
        self._standing: set[str] = set()

    def __call__(self, poll: Poll) -> None:
        now = set(poll.ages)
        for name in sorted(now ^ self._standing):
            click.echo(f"{poll.at:6.0f} s  {name} {'comes' if name in now else 'goes'}")
        self._standing = now


if __name__ == "__main__":
    main()
