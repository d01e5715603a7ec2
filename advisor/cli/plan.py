"""`plan`: the change of a finding, ready to merge for whoever owns the setting."""

from __future__ import annotations

import functools
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.cli.options import (
    SetupOptions,
    SourceOptions,
    format_option,
    optional_where_options,
    setup_options,
    watch_options,
)
from advisor.cli.output import Unusable, epilog
from advisor.cli.reading import optional_reading_options, read_once
from advisor.cli.sidecar import SidecarOptions, optional_sidecar_options

if TYPE_CHECKING:
    from advisor.contract.plan import Plan, TargetName
    from advisor.fleet.progress import Progress
    from advisor.fleet.reading import ReadingOptions

TARGETS = (
    *("cnf", "percona-ps", "percona-pxc", "oracle", "moco", "vitess", "mariadb-operator", "bitnami", "kubeblocks"),
    *("terraform", "crossplane", "ansible"),
)
"""``TargetName``'s names: --help needs no pydantic."""


@click.command(
    epilog=epilog(
        "plan 9f2c5d1e0a7b4c36 --for percona-ps --url http://127.0.0.1:9747",
        "kubectl get ps db -o yaml | innodb-advisor plan 9f2c5d1e0a7b4c36 --for percona-ps --url … --manifest -",
        "plan 9f2c5d1e0a7b4c36 --for cnf --recording busy-hour.jsonl.gz --format markdown > change.md",
        "plan 9f2c5d1e0a7b4c36 --for terraform --prometheus http://prometheus:9090 --server eu/shop/db-1",
    )
)
@click.argument("fingerprint")
@click.option(
    "--for",
    "target",
    type=click.Choice(TARGETS),
    required=True,
    help="Who owns the setting: an option file, an operator, a chart, or a tool.",
)
@click.option(
    "--manifest",
    metavar="FILE",
    help="The owner's object or file of today, or - for standard input, such as of `kubectl get … -o yaml`: the patch "
    "keeps everything else in it.",
)
@optional_sidecar_options
@optional_where_options
@watch_options
@setup_options
@optional_reading_options
@format_option("text", "markdown", "json")
def plan(
    *,
    fingerprint: str,
    target: TargetName,
    manifest: str | None,
    sidecar: SidecarOptions | None,
    where: functools.partial[SourceOptions],
    watch: float,
    interval: float | None,
    setup: SetupOptions,
    reading: ReadingOptions | None,
    style: str,
) -> None:
    """Make a finding's change ready to merge, where the setting is owned.

    FINGERPRINT is that of the finding, as `advise`, the page and the alert have it. The plan is a patch in the owner's
    own form and the one that takes it back; the steps in their order, each with the check that says it is done; what
    the container's memory becomes; how the change rolls out, and what a restart costs; when to abort; and when it is
    done. Nothing is changed on a server or in a cluster: people merge it.

    What would not last, or is dangerous on this version, is refused with the reason.
    """
    from advisor.cli.output import put_answer
    from advisor.render import plan as documents

    if (any(where.keywords.values()), sidecar is not None, reading is not None).count(True) > 1:
        raise click.UsageError("--url, --prometheus, and a server or a recording do not go together: name one")
    text = None if manifest is None else _text(manifest)
    if sidecar is not None:
        answer = _asked(fingerprint, target, text, sidecar)
    elif reading is not None:
        answer = _read(fingerprint, target, text, reading, setup)
    else:
        answer = _watched(fingerprint, target, text, where(), setup, watch=watch, interval=interval)
    put_answer(answer, style, documents.plan)


def _text(manifest: str) -> str:
    """The text of a file, or of standard input. Raises Unusable."""
    from exporter import files

    try:
        return sys.stdin.read() if manifest == "-" else files.text(Path(manifest))
    except OSError as error:
        raise Unusable(f"cannot read {manifest}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Unusable(f"cannot read {manifest}: it is not UTF-8 text") from error


def _asked(fingerprint: str, target: TargetName, manifest: str | None, sidecar: SidecarOptions) -> Plan:
    from urllib.parse import quote, urlencode

    from advisor.contract.plan import Plan

    path = f"/advise/{quote(fingerprint, safe='')}/plan?{urlencode({'for': target})}"
    return sidecar.ask(path, Plan, manifest)


def _read(
    fingerprint: str, target: TargetName, manifest: str | None, reading: ReadingOptions, setup: SetupOptions
) -> Plan:
    """The plan for a server of a fleet.

    Raises:
        PlanRefused: There is no plan.
        Unusable: There is no answer, or no server.
    """
    from advisor.fleet.plans import read_plan

    if reading.server is None:
        raise click.UsageError("--prometheus knows many servers: name one with --server")
    rules, _ = setup.load()

    def read(progress: Progress) -> Coroutine[Any, Any, Plan]:
        return read_plan(reading, fingerprint, target, rules.rule_set, progress=progress, manifest=manifest)

    return read_once(read, reading.url)


def _watched(
    fingerprint: str,
    target: TargetName,
    manifest: str | None,
    where: SourceOptions,
    setup: SetupOptions,
    *,
    watch: float,
    interval: float | None,
) -> Plan:
    """The plan from a recording, or from a server that is watched for a while.

    Raises:
        PlanRefused: There is no plan.
        Unusable: Nothing has the fingerprint.
    """
    from advisor.advice.interpreter import Remembered
    from advisor.advice.judgement import assess, judge
    from advisor.cli import ledgers, sources
    from advisor.plan.plan import plan as plan_of
    from advisor.pool.fitting import Loads

    rules, machine = setup.load()
    source = sources.observed_source(where, watch, interval, machine)
    ledger = ledgers.ledger_of(source)
    seen = sources.whole_window(source)
    loads = Loads()
    remembered = Remembered(None, setup.may_read, () if ledger is None else tuple(ledger.outcomes.values()))
    judgements = judge(rules.rules, seen, loads=loads, remembered=remembered)
    advice = assess({judgement.rule: judgement for judgement in judgements}, seen, rules.rule_set).advice
    finding = advice.by_fingerprint(fingerprint)
    if finding is None:
        names = ", ".join(finding.fingerprint for finding in advice.recommendations) or "none"
        raise Unusable(f"nothing that is found now has the fingerprint {fingerprint}; there are {names}")
    return plan_of(finding, seen, target, manifest, beside=advice.recommendations, loads=loads)
