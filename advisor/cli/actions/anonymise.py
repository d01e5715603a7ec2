"""`anonymise`: a recording without the owner's names."""

from __future__ import annotations

from pathlib import Path

import click

from advisor.cli.actions.output import say
from advisor.cli.exits import Unusable
from advisor.ledger.carried import CarriedLedger, ledger_of
from advisor.ledger.ledger import Ledger
from advisor.rules.rulebook import builtin_ids
from exporter.files import replacing
from exporter.recording.anonymise import AnonymousRecorder
from exporter.recording.file import TruncatedRecording, copy


def anonymise(*, recording: Path, output: Path) -> None:
    """Write the recording again, and print the size of the new file.

    Raises:
        click.UsageError: Both are the same file.
        RecordingError: The recording cannot be used; the output is as it was.
        Unusable: The output cannot be written.
    """
    if output.exists() and recording.exists() and output.samefile(recording):
        raise click.UsageError("-o names the recording itself: name another file")
    rules = builtin_ids()
    try:
        with replacing(output) as part, AnonymousRecorder(part) as recorder:
            try:
                copy(recording, recorder, lambda lines: CarriedLedger(ledger_of(lines) or Ledger(), rules))
            except TruncatedRecording as error:
                if not recorder.collections:
                    raise
                say(f"{error}; the collections before that are taken: {recorder.collections}", err=True)
    except OSError as error:
        raise Unusable(f"cannot write {output}: {error.strerror}") from error
    say(f"{output}: {output.stat().st_size:,} bytes", err=True)
