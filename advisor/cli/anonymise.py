"""`anonymise`: a recording without the owner's names."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from advisor.cli.options import recording_output_option
from advisor.cli.output import Unusable, epilog


@click.command(epilog=epilog("anonymise busy-hour.jsonl.gz -o for-a-ticket.jsonl.gz"))
@click.argument("recording", type=click.Path(path_type=Path), metavar="RECORDING")
@recording_output_option
def anonymise(*, recording: Path, output: Path) -> None:
    """Write a recording again without your names.

    Names of schemas, tables, indexes, columns, accounts and hosts are replaced by random ones; paths, statements, texts
    and what no parser reads are left out, as `record --anonymise` does it. The advice stays the same, except for the
    names.

    RECORDING stays as it is. Of a truncated one all complete collections are taken.
    """
    from advisor.cli.output import say
    from advisor.ledger.recorded import ledger_lines, recorded_ledger
    from advisor.rules.rulebook import builtin_ids
    from exporter.files import replacing
    from exporter.recording.anonymise import AnonymousRecorder
    from exporter.recording.file import TruncatedRecording, copy

    if output.exists() and recording.exists() and output.samefile(recording):
        raise click.UsageError("-o names the recording itself: name another file")
    rules = builtin_ids()
    try:
        with replacing(output) as part, AnonymousRecorder(part) as recorder:
            try:
                copy(recording, recorder, lambda lines: partial(ledger_lines, recorded_ledger(lines), rules))
            except TruncatedRecording as error:
                if not recorder.collections:
                    raise
                say(f"{error}; the collections before that are taken: {recorder.collections}", err=True)
    except OSError as error:
        raise Unusable(f"cannot write {output}: {error.strerror}") from error
    say(f"{output}: {output.stat().st_size:,} bytes", err=True)
