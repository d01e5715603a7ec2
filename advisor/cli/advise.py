"""`advise`: the rules' advice on a recording, or on a server that is watched for a while."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from advisor.cli.options import (
    SEVERITIES,
    SetupOptions,
    SourceOptions,
    fail_on_option,
    format_option,
    setup_options,
    state_option,
    watch_options,
    where_options,
)
from advisor.cli.output import FINDINGS, epilog


@click.command(
    epilog=epilog(
        "advise --defaults-file ~/.my.cnf --watch 5m",
        "advise --recording busy-hour.jsonl.gz --format json",
        "advise --defaults-file ~/.my.cnf --fail-on warning || echo look at this",
        "advise --defaults-file ~/.my.cnf --rules ./my-rules --suppress warmup-disabled --memory 16G",
    )
)
@where_options
@setup_options
@watch_options
@state_option("Read what `serve` remembers of the last days from this directory")
@format_option("text", "json", "markdown")
@fail_on_option(SEVERITIES, "there is advice of this severity or worse")
def advise(
    *,
    where: SourceOptions,
    setup: SetupOptions,
    watch: float,
    interval: float | None,
    state_dir: Path | None,
    style: str,
    fail_on: str | None,
) -> None:
    """Watch for a while, then say what to change.

    Rules judge what happens while they watch. Let --watch span at least two runs of the work in question.
    """
    import time

    from advisor.advice.interpreter import Remembered
    from advisor.advice.judgement import assess, judge
    from advisor.cli import ledgers, sources
    from advisor.cli.output import model_json, put
    from advisor.contract.recommendation import Severity
    from advisor.ledger.history import GradedAdvice, dated, newest
    from advisor.ledger.ledger import Ledger
    from advisor.render import advice as documents

    rules, machine = setup.load()
    hours = ledgers.hours_in(state_dir, where.state_address) if state_dir else None
    ledger = ledgers.ledger_in(state_dir, where.state_address) if state_dir else None
    source = sources.observed_source(where, watch, interval, machine)
    ledger = ledger or ledgers.ledger_of(source) or Ledger()
    seen = sources.whole_window(source)
    remembered = Remembered(hours, setup.may_read, tuple(ledger.outcomes.values()))
    judgements = judge(rules.rules, seen, remembered=remembered)
    assessment = assess({judgement.rule: judgement for judgement in judgements}, seen, rules.rule_set)
    dates = {"computed_at": time.time(), "age_seconds": 0.0}
    advice = dated(assessment.advice, ledger).model_copy(update=dates)
    graded = GradedAdvice.model_construct(**dict(advice), outcomes=tuple(newest(ledger.outcomes.values())))
    if style == "json":
        none = None if graded.outcomes else {"outcomes"}  # then it is what GET /advise answers
        put(model_json(graded, exclude=none))
    else:
        put(documents.advice(graded), style=style)
    sources.refuse_missing_privileges(assessment.snapshot)
    if fail_on and any(finding.severity.rank >= Severity(fail_on).rank for finding in advice.recommendations):
        sys.exit(FINDINGS)
