"""The parts of the documentation that are made from the code: `python -m tools.docs` writes them anew."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from advisor import facts
from advisor.advice import evaluation
from advisor.advice import metrics as advisor_metrics
from advisor.advice.replay import Replaying
from advisor.alerting import delivery as alerting_metrics
from advisor.casetest import cases
from advisor.contract.fleet import FleetReport
from advisor.fleet import days, inventory, mysqld_exporter, sidecar, verdicts
from advisor.fleet import metrics as fleet_metrics
from advisor.fleet.mysqld_exporter import FLAGS
from advisor.fleet.queries import WORDS
from advisor.ledger import grades as ledger_grades
from advisor.ledger import history as ledger_history
from advisor.ledger import metrics as ledger_metrics
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from advisor.observe.window import Window
from advisor.plan import receipt as receipts
from advisor.pool import estimate
from advisor.pool import metrics as curve_metrics
from advisor.render import advice as advice_document
from advisor.render import fleet as fleet_document
from advisor.render import models, text
from advisor.render import outcomes as outcome_documents
from advisor.render import receipt as receipt_document
from advisor.render.blocks import TextDocument
from advisor.rules import page
from advisor.rules.check import Rule
from advisor.rules.rulebook import Rulebook
from advisor.timeline.series import QUANTITIES
from exporter import knowledge
from exporter.collectors import DEFAULT
from exporter.recording import history as stored_history
from exporter.sampling import metrics
from lab import fleet_report, steady
from lab.bench import report as bench
from lab.bench.registry import BENCHMARKS
from lab.curves import cold_starts_report as cold_starts
from lab.curves import report as curves
from lab.curves import warm_ups_report as warm_ups
from lab.experiments import report as experiments
from lab.gauntlet import report as gauntlet
from lab.harness.watch import RULES_FOLDER, rules
from lab.outcomes import report as outcomes
from lab.peers import report as peers
from lab.plans import report as plans
from lab.proofs import report as proofs
from lab.reports import markdown
from lab.upgrades import report as upgrades
from tools import generated, man, practice

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
METRICS = ROOT / "docs" / "metrics.md"
RECOMMENDATIONS = ROOT / "docs" / "recommendations.md"
PAGES = ROOT / "docs" / "rules"
EXPERIMENTS = ROOT / "docs" / "experiments.md"
PROOFS = ROOT / "docs" / "proofs.md"
WRITING = ROOT / "docs" / "writing-rules.md"
CURVES = ROOT / "docs" / "miss-curve.md"
COLD_STARTS = ROOT / "docs" / "cold-start.md"
PLAN = ROOT / "docs" / "plan.md"
UPGRADES = ROOT / "docs" / "upgrade.md"
PEERS = ROOT / "docs" / "peers.md"
HTTP = ROOT / "docs" / "http-api.md"
MAN = ROOT / "docs" / "man" / f"{man.NAME}.1"
FLEET = ROOT / "docs" / "fleet.md"
PLAN = ROOT / "docs" / "plan.md"
COMMANDS = ROOT / "docs" / "command-line.md"
CAPTURES = ROOT / "tests" / "captures"
CAPTURE = CAPTURES / "mysql-9.7/repeated-scan/recording.jsonl.gz"
FOLLOWED = CAPTURES / "mysql-9.7/scan-followed-midway/recording.jsonl.gz"
HOT_SET = CAPTURES / "mysql-9.7/hot-set-exceeds-pool/recording.jsonl.gz"
_PART = re.compile(r"(<!-- (\w+): made by tools/docs\.py -->\n).*?(<!-- end -->)", re.DOTALL)
_OF_PEER_ANYWAY = ("status", "variables", "pools", "machine")
"""Sections that mysqld_exporter has by default; and machine, which kube-state-metrics has."""
_MADE_FROM_RECORDS = "<!-- made by tools/docs.py from lab/records: python -m tools.docs -->\n\n"
_MADE = "<!-- made by tools/docs.py from rules/: python -m tools.docs -->\n\n"


def metrics_table() -> str:
    """A markdown table of every metric of `serve`."""
    return _metrics(metrics, stored_history, advisor_metrics, curve_metrics, ledger_metrics, alerting_metrics)


def fleet_metrics_table() -> str:
    """The same of `fleet --listen`."""
    return _metrics(fleet_metrics)


def _metrics(*modules: Any) -> str:
    specs = [spec for module in modules for spec in module.SPECS.values()]
    return markdown.table(
        ("metric", "labels", "kind", "what it is"),
        ((f"`{spec.name}`", _codes(spec.labels), spec.kind, spec.help) for spec in specs),
    )


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def advice() -> str:
    """What `innodb-advisor advise` prints for the capture of a repeated scan, as a block of text."""
    window = Window.of(Replay(CAPTURE).history, float("inf"))
    return _block(advice_document.advice(evaluation.advise(rules(), window)))


def grades() -> str:
    """What `innodb-advisor grade` prints for the capture of a scan whose advice is followed, as a block of text."""
    return _block(outcome_documents.grades(ledger_grades.grades([_followed().stretch([FOLLOWED.name])])))


def history() -> str:
    """What `innodb-advisor history` prints of the same, as a block of text."""
    return _block(outcome_documents.history(ledger_history.history(_followed().ledger)))


def receipt() -> str:
    """What `innodb-advisor receipt` prints of the same, as a block of text."""
    ledger = _followed().ledger
    [fingerprint] = ledger.findings
    answer = receipts.receipt(ledger, fingerprint)
    assert answer is not None  # noqa: S101 - it is of this ledger
    return _block(receipt_document.receipt(answer))


def miss_curve() -> str:
    """What `innodb-advisor curve` prints for the capture of a hot set that exceeds the pool, as a block of text."""
    history = tuple(Replay(HOT_SET).history)
    return _block(models.curve(estimate.curve(history, math.inf, (0.5, 1.5, 2.0)).tidied()))


@functools.cache
def _followed() -> Replaying:
    """The replay of that capture, to its end."""
    replaying = Replaying(Rulebook(RULES_FOLDER).rule_set, Ledger(window_seconds=8.0))
    for _ in replaying.replay(Replay(FOLLOWED).history):
        pass
    return replaying


def _block(document: TextDocument) -> str:
    """A document as a block of text, as wide as a page has room for."""
    return f"```\n{text.text(document, width=110)}```\n"


def excerpt() -> str:
    """The beginning of the advice, down to its cost, as a block of text."""
    beginning, _, _ = advice().partition("\n  or ")
    return beginning + "\n```\n"


def rules_table() -> str:
    """A markdown table of the rules, with links to their pages in the same folder."""
    return markdown.table(
        ("rule", "severity", "what it finds"),
        ((f"[{rule.id}]({rule.id}.md)", rule.file.severity, rule.file.title) for rule in rules()),
    )


def names_tables() -> str:
    """Every name that expressions may use."""
    groups = [(name, "", shape) for name, shape in facts.GROUPS.items()]
    for for_each, (name, shape) in facts.LISTS.items():
        groups.append((name, f", in rules with `for_each: {for_each}`", shape))
    groups.append((facts.CHOICE, ", in rules with `choose`", facts.Choice))
    parts = []
    for name, where, shape in groups:
        about, table = page.about(shape), page.names_table(facts.facts_in(name, shape))
        parts.append(f"**`{name}`**{where}: {about[0].lower()}{about[1:]}\n\n{table}\n")
    parts.append(
        f"**`setting`**: global variables as the server prints them.\n\n{page.names_table(facts.SETTING_FACTS)}\n"
    )
    return "\n".join(parts)


def sections_table() -> str:
    """The sections that `needs` may name, and what an account needs for them."""
    rows = ((f"`{collector.name}`", collector.privilege or "none") for collector in DEFAULT)
    return markdown.table(("section", "privilege"), rows)


def behaviours_table() -> str:
    """What `applies.has` may name."""
    names = sorted(knowledge.BEHAVIOURS.keys() - knowledge.BUGS.keys() - knowledge.UPGRADE_BUGS.keys())
    rows = ((f"`{name}`", knowledge.BEHAVIOURS[name].what) for name in names)
    return markdown.table(("behaviour", "what it is"), rows)


def bugs_table() -> str:
    """The bugs that changes heed."""
    rows = (
        (f"`{name}`", bug.bug, f"`{bug.setting}`", bug.what, f"`{bug.consequence}`")
        for name, bug in sorted(knowledge.BUGS.items())
    )
    return markdown.table(("bug", "number", "setting", "what it is", "follows"), rows)


def series_table() -> str:
    """What /series answers with."""
    rows = ((f"`{quantity.name}`", quantity.unit, quantity.text) for quantity in QUANTITIES.values())
    return markdown.table(("series", "unit", "what it is"), rows)


def fleet() -> str:
    """What `innodb-advisor fleet` printed of the servers of lab/fleet_report.py, as a block of text."""
    report = FleetReport.model_validate_json(fleet_report.RECORD.read_text(encoding="utf-8"))
    return _block(fleet_document.report(report, fleet_document.TERMINAL))


def flags_table() -> str:
    """The flags of mysqld_exporter that are off by default, and the rules that read what they open."""
    rows = []
    for flag in dict.fromkeys(FLAGS.values()):
        sections = [section for section in FLAGS if FLAGS[section] == flag]
        readers = _codes(rule.id for section in sections for rule in rules() if section in rule.file.needs)
        rows.append((f"`{flag}`", readers or "none alone; it tells more of scans and sizes"))
    return markdown.table(("flag", "rules that read its series"), rows)


def sources_table() -> str:
    """By rule, what it reads of mysqld_exporter by a flag, and what that does not have at all."""
    rows = []
    for rule in rules():
        text, needs = rule.path.read_text(encoding="utf-8"), rule.file.needs
        flags = _codes(dict.fromkeys(FLAGS[section] for section in needs if section in FLAGS))
        pod = "limits of the pod" if "machine" in needs else ""
        absent = [section for section in needs if section not in {*FLAGS, *_OF_PEER_ANYWAY}]
        absent += [word for word in WORDS if word in text]
        rows.append((f"`{rule.id}`", ", ".join(filter(None, (flags, pod))), _codes(absent)))
    return markdown.table(("rule", "flags of mysqld_exporter", "never there"), rows)


def queries_list() -> str:
    """Every query, with its name in the code and in errors."""
    queries = (query for module in (inventory, verdicts, sidecar, mysqld_exporter, days) for query in module.QUERIES)
    texts = (f"# {query.name}{', at the end alone' if query.at_end else ''}\n{query.text}\n" for query in queries)
    return "```\n" + "\n".join(texts) + "```\n"


def example(path: str) -> str:
    """A file of docs, as a block."""
    return f"```yaml\n{(ROOT / 'docs' / path).read_text(encoding='utf-8')}```\n"


_PARTS: dict[str, Callable[[], str]] = {
    "metrics": metrics_table,
    "advice": advice,
    "excerpt": excerpt,
    "grades": grades,
    "curve": miss_curve,
    "history": history,
    "receipt": receipt,
    "github": lambda: example("ci/github.yml"),
    "gitlab": lambda: example("ci/gitlab.yml"),
    "names": names_tables,
    "sections": sections_table,
    "behaviours": behaviours_table,
    "bugs": bugs_table,
    "series": series_table,
    "fleet": fleet,
    "flags": flags_table,
    "sources": sources_table,
    "service": fleet_metrics_table,
    "queries": queries_list,
    "rule": lambda: example("example-rules/reads-keep-missing.yaml"),
    "cases": lambda: example("example-rules/reads-keep-missing.cases.yaml"),
    "curves": curves.verdicts,
    "jobs": curves.jobs,
    "workloads": curves.sections,
    "memory": plans.section,
    "fillings": cold_starts.measured,
}


def with_parts(source: str) -> str:
    """A text whose marked parts, from ``<!-- <name>: made by tools/docs.py -->`` on, are as the code makes them."""
    return _PART.sub(lambda part: part[1] + _PARTS[part[2]]() + part[3], source)


def documents() -> dict[Path, str]:
    """Every file that is made here, as a whole or in parts, and what it must hold."""
    in_parts = (README, METRICS, RECOMMENDATIONS, WRITING, CURVES, COLD_STARTS, COMMANDS, HTTP, FLEET, PLAN)
    contents = {path: with_parts(path.read_text(encoding="utf-8")) for path in in_parts}
    contents[UPGRADES] = _MADE_FROM_RECORDS + upgrades.page()
    contents[PEERS] = _MADE_FROM_RECORDS + peers.page()
    contents[EXPERIMENTS] = _MADE_FROM_RECORDS + experiments.page()
    proof_parts = (proofs.page, gauntlet.section, outcomes.section, steady.section, warm_ups.section)
    contents[PROOFS] = _MADE_FROM_RECORDS + "".join(part() for part in proof_parts)
    contents[MAN] = man.page()
    if (measured := bench.document(BENCHMARKS)) is not None:
        contents[bench.PAGE] = measured
    contents[PAGES / "README.md"] = _index()
    proved = proofs.recorded()
    for rule in rules():
        contents[PAGES / f"{rule.id}.md"] = _MADE + _page(rule, proved=rule.id in proved)
    return contents


def stale() -> list[Path]:
    """Files that are not as they must be, or that no rule has any more."""
    return generated.stale(documents(), PAGES)


def links(page: str) -> list[str]:
    """The files that a page leads to, relative to it."""
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page)
    return [target for target in targets if "://" not in target]


def write() -> None:
    """Bring all of it up to date."""
    generated.write(documents(), PAGES)
    practice.write()
    experiments.draw()
    curves.draw()


def _index() -> str:
    head = "# The rules\n\nOne page a rule, made from its file in [rules/](../../rules). How to write your own: "
    return f"{_MADE}{head}[writing-rules.md](../writing-rules.md).\n\n{rules_table()}"


def _page(rule: Rule, *, proved: bool) -> str:
    """A rule's page, with its cases and a link to the record of its proof."""
    text = page.markdown(rule, proofs=[_proof(case) for case in cases.load(rule)])
    if not proved:
        return text
    heading = "## How it was proved\n"
    return text.replace(heading, f"{heading}\nOn real servers, both ways: [the record](../proofs.md#{rule.id}).\n")


def _proof(case: cases.Case) -> str:
    capture = case.recording.resolve().parent.relative_to(CAPTURES)
    altered = f" (altered: {case.alteration.summary})" if case.alteration else ""
    return f"{case.name}: [{capture}](../../tests/captures/{capture}/note.yaml){altered}"


if __name__ == "__main__":
    write()
