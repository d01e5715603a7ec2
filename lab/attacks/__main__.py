"""The attacks' command line: `python -m lab.attacks`, or `make attack`."""

from __future__ import annotations

import sys
import time

import click
from rich.console import Console

from lab.attacks import record, report
from lab.attacks.attack import Attack, Line, Stage
from lab.attacks.registry import ATTACKS
from lab.attacks.stage import staged
from lab.campaign.progress import Reporter
from lab.servers import StartError, Unavailable, interrupt_on_signals

BROKEN, UNAVAILABLE, INTERRUPTED = 1, 2, 130
WIDTH = 150
AGAIN = {False: 1, True: 2}
"""How often an attack that breaks a bound is made again, in full and in the short form: CI's machine may be busy."""
_STAGE_SECONDS = 15.0

_EXAMPLES = """\b
Examples:
  make attack                               all of them
  make attack ONLY=idle                     one attack
  .venv/bin/python -m lab.attacks --short   shorter, without a record
"""


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=_EXAMPLES)
@click.option("--only", "names", multiple=True, type=click.Choice(list(ATTACKS)), help="This attack; may be repeated.")
@click.option("--short", is_flag=True, help="Shorter rounds, without attacks that mostly wait; no record.")
@click.option("--list", "listing", is_flag=True, help="List the attacks, and make none.")
def main(names: tuple[str, ...], short: bool, listing: bool) -> None:  # noqa: FBT001 - click's flags
    """Attack a running sidecar as an outsider would, and compare what happens with what is promised.

    A real `innodb-advisor serve` watches a real MySQL 9.7 under a steady load of readers and writers. Everything is on
    this machine and bounded in time. An attack that breaks a bound is made again; only then does it count as broken.
    One that does not come to its end, because the sidecar no longer answers, counts as broken too.

    The record is lab/records/attacks.json, and a table in docs/security.md is generated from it by
    `python -m tools.docs`. Keep the machine idle meanwhile: other work shows in the latencies. Ctrl-C stops all.

    Exit status: 0 every bound is kept, 1 a bound is broken, 2 a server is unavailable here, 130 interrupted.
    """
    chosen = [
        attack for name, attack in ATTACKS.items() if name in names or not (names or (short and not attack.in_ci))
    ]
    if listing:
        for attack in chosen:
            click.echo(f"{attack.name}: {attack.title}, about {attack.seconds[short]:.0f} s")
        return
    interrupt_on_signals()
    reporter = Reporter(_STAGE_SECONDS + sum(attack.seconds[short] for attack in chosen))
    found: dict[str, tuple[Line, ...]] = {}
    try:
        with reporter:
            reporter.begin("a MySQL 9.7 under load")
            with staged(reporter.say, short=short) as stage:
                reporter.advance(_STAGE_SECONDS)
                for attack in chosen:
                    found[attack.name] = make(attack, stage, reporter)
                version = stage.server.version
    except (Unavailable, StartError) as error:
        reporter.note(f"no attack was made: {error}")
        sys.exit(UNAVAILABLE)
    except KeyboardInterrupt:
        reporter.note("\ninterrupted; nothing is left running")
        sys.exit(INTERRUPTED)
    Console(width=WIDTH, highlight=False).print(report.terminal(found))
    if not short:
        record.save(found, version, list(ATTACKS))
        reporter.note("recorded in lab/records/attacks.json; python -m tools.docs brings docs/security.md up to date")
    sys.exit(0 if all(line.kept for lines in found.values() for line in lines) else BROKEN)


def make(attack: Attack, stage: Stage, reporter: Reporter) -> tuple[Line, ...]:
    """Make an attack, and again if it breaks a bound."""
    reporter.begin(attack.name)
    began = time.monotonic()
    lines, again = _lines(attack, stage), 0
    while not all(line.kept for line in lines) and again < AGAIN[stage.short]:
        again += 1
        reporter.say("a bound is broken: made again")
        lines = _lines(attack, stage)
    broken = [f"{line.what}: {line.measured}, bound {line.bound}" for line in lines if not line.kept]
    verdict = f"BROKEN {'; '.join(broken)}" if broken else "kept"
    reporter.end(
        attack.name, f"{verdict}{f', made {1 + again} times' if again else ''}, {time.monotonic() - began:.0f} s"
    )
    reporter.advance(attack.seconds[stage.short])
    return lines


def _lines(attack: Attack, stage: Stage) -> tuple[Line, ...]:
    try:
        return tuple(attack.run(stage))
    except (Unavailable, StartError):
        raise
    except Exception as error:  # noqa: BLE001 - a sidecar that no longer answers: the attack has succeeded
        return (Line("the attack", "comes to its end", f"{type(error).__name__}: {error}"[:200], kept=False),)


if __name__ == "__main__":
    main()
