"""`anonymise`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from advisor.cli.exits import epilog
from advisor.cli.lazy import runs
from advisor.cli.options import output_option


@click.command(epilog=epilog("anonymise busy-hour.jsonl.gz -o for-a-ticket.jsonl.gz"))
@click.argument("recording", type=click.Path(path_type=Path), metavar="RECORDING")
@output_option
@runs("advisor.cli.actions.anonymise.anonymise")
def anonymise() -> None:
    """Write a recording again without your names.

    Names of schemas, tables, indexes, columns, accounts and hosts are replaced by random ones; paths, statements, texts
    and what no parser reads are left out, as `record --anonymise` does it. The advice stays the same, except for the
    names.

    RECORDING stays as it is. Of a truncated one all complete collections are taken.
    """
