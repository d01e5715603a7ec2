"""`receipt`: what became of the change that a finding asked for, as text, markdown or JSON, and as the exit code."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from advisor.cli.options import format_option
from advisor.cli.output import FINDINGS, OPEN, UNDECIDED, Unusable, epilog
from advisor.cli.remembered import LedgerOptions, ledger_options
from advisor.cli.sidecar import SidecarOptions, optional_sidecar_options

if TYPE_CHECKING:
    from advisor.plan.receipt import Receipt

_CODES: Mapping[str, int] = {
    "kept": 0,
    "missed": FINDINGS,
    "harm": FINDINGS,
    "open": OPEN,
    "not changed": OPEN,
    "undecided": UNDECIDED,
}


@click.command(
    epilog=epilog(
        "receipt a63178a321b3b23c --url http://127.0.0.1:9747",
        "receipt a63178a321b3b23c --state-dir /var/lib/innodb-advisor",
        "receipt a63178a321b3b23c --recording shop.jsonl.gz --format markdown",
    )
)
@click.argument("fingerprint")
@optional_sidecar_options
@ledger_options
@format_option("text", "markdown", "json")
def receipt(*, fingerprint: str, sidecar: SidecarOptions | None, remembered: LedgerOptions, style: str) -> None:
    """Say what became of the change that a finding asked for.

    FINGERPRINT is the finding's. The receipt has what was predicted and what was measured, what else moved, when, and
    under which versions. Of several changes it is of the newest one; `history` has all. The exit code says the same:

    \b
      0  kept: measured as predicted, and nothing else got worse
      1  missed: measured, and not as predicted; or harm: something else got worse
      3  open: the pool settles; or not changed: no change of the finding's settings was seen yet
      4  undecided: other work, another change, or a promise that nobody measures
    """  # noqa: D301 - click's mark for lines that stay as they are
    from advisor.cli.output import put_answer
    from advisor.render import receipt as documents

    answer = _receipt(fingerprint, remembered) if sidecar is None else _asked(fingerprint, sidecar, remembered)
    put_answer(answer, style, documents.receipt)
    sys.exit(_CODES[answer.state])


def _asked(fingerprint: str, sidecar: SidecarOptions, remembered: LedgerOptions) -> Receipt:
    from urllib.parse import quote

    from advisor.plan.receipt import Receipt

    if remembered.is_named:
        raise click.UsageError("--url stands alone: it replaces the directory, the server and the recording")
    return sidecar.ask(f"/advise/{quote(fingerprint, safe='')}/receipt", Receipt)


def _receipt(fingerprint: str, remembered: LedgerOptions) -> Receipt:
    from advisor.plan.receipt import receipt as receipt_of

    answer = receipt_of(remembered.load("or a running sidecar with --url"), fingerprint)
    if answer is None:
        raise Unusable(f"no finding and no outcome has the fingerprint {fingerprint}; `history` lists all there are")
    return answer
