"""Where the stable names come from: the declarations that the code itself uses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import click
from pydantic import TypeAdapter
from ruamel.yaml import YAML

from advisor.advice import metrics as advisor_metrics
from advisor.alerting import metrics as alerting_metrics
from advisor.casetest.cases import Case
from advisor.cli.main import main as program
from advisor.contract.fleet import FleetReport
from advisor.fleet import metrics as fleet_metrics
from advisor.http.description import undescribed
from advisor.ledger import metrics as ledger_metrics
from advisor.ledger.entry import Entry
from advisor.ledger.grades import Grades
from advisor.pool import memory_file
from advisor.pool import metrics as curve_metrics
from advisor.rules import glossary
from advisor.rules.configuration import Configuration
from advisor.rules.file import RuleFile
from exporter import knowledge
from exporter.collectors import COLLECTORS, LIGHT
from exporter.recording import file as recording
from exporter.recording import history_metrics
from exporter.sampling import metrics
from lab.observation import rules
from lab.packages.cache import REPOSITORY
from tools.stable_names.shapes import Named, fields

CHART = REPOSITORY / "charts" / "innodb-advisor"
CONFIGURATION = REPOSITORY / "docs" / "configuration.md"
_METRICS = (
    metrics,
    history_metrics,
    advisor_metrics,
    curve_metrics,
    ledger_metrics,
    alerting_metrics,
    fleet_metrics,
)
_DEPRECATED = re.compile(r"Deprecated since (\d+\.\d+\.\d+)")


def found() -> dict[str, str | None]:
    """Every stable name of this code, with the version that deprecated it: its description says so."""
    names: dict[str, str | None] = {}
    for each in (_metrics, _http, _command_line, _variables, _rules, _files, _chart):
        for name, said in each():
            words = _DEPRECATED.search(said)
            names[name] = words[1] if words else names.get(name)
    return names


def _metrics() -> Iterator[Named]:
    for spec in (spec for module in _METRICS for spec in module.SPECS.values()):
        if spec.kind == "info":  # may get further labels: nobody adds its samples up
            yield f"metric {spec.name} info", spec.help
            yield from ((f"metric {spec.name} info {{{label}}}", spec.help) for label in spec.labels)
        else:
            labels = f"{{{','.join(spec.labels)}}}" if spec.labels else ""
            yield f"metric {spec.name}{labels} {spec.kind}", spec.help


def _http() -> Iterator[Named]:
    document = undescribed().openapi()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            asked = f"http {method.upper()} {path}"
            yield asked, operation.get("description", "")
            for parameter in operation.get("parameters", ()):
                yield f"{asked} {parameter['in']} {parameter['name']}", parameter.get("description", "")
            sides = {"body": operation.get("requestBody"), "answer": operation["responses"].get("200")}
            for side, described in sides.items():
                for kind, content in ((described or {}).get("content") or {}).items():
                    yield f"{asked} {side} {kind}", ""
                    if kind == "application/json":
                        yield from _under(f"{asked} {side} ", content.get("schema", {}), document)


def _command_line() -> Iterator[Named]:
    context = click.Context(program, info_name="innodb-advisor")
    yield from _command(program, context)
    yield from _shape("json fleet ", FleetReport, "serialization")
    yield from _shape("json grade ", Grades, "serialization")


def _variables() -> Iterator[Named]:
    """As documented: some are no option's."""
    documented = re.findall(
        r"^\| `(INNODB_ADVISOR_\w+)` \|(.*)", CONFIGURATION.read_text(encoding="utf-8"), re.MULTILINE
    )
    yield from ((f"variable {name}", said) for name, said in documented)


def _command(command: click.Command, context: click.Context) -> Iterator[Named]:
    for parameter in command.params:
        said = getattr(parameter, "help", None) or ""
        spelt = parameter.opts + parameter.secondary_opts if isinstance(parameter, click.Option) else ["(argument)"]
        for name in spelt:
            yield f"command {context.command_path} {name}", said
        if isinstance(parameter.type, click.Choice):
            yield from (
                (f"command {context.command_path} {spelt[0]} = {each}", said) for each in parameter.type.choices
            )
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None  # noqa: S101 - the group lists it
            yield f"command {context.command_path} {name}", below.help or ""
            yield from _command(below, click.Context(below, info_name=name, parent=context))


def _rules() -> Iterator[Named]:
    yield from _shape("rule ", RuleFile, "validation")
    yield from _shape("case ", Case, "validation")
    names = [*glossary.settings(), *(name for group in glossary.groups() for name in group.names)]
    yield from (
        (f"fact {each.name}: {each.kind}" + (f", {each.unit}" if each.unit else ""), each.meaning) for each in names
    )
    yield from ((f"behaviour {name}", each.what) for name, each in knowledge.BEHAVIOURS.items())
    yield from ((f"finding {each.id}", each.file.title) for each in rules())


def _files() -> Iterator[Named]:
    yield from _shape("configuration ", Configuration, "validation")
    yield f"recording format {recording.FORMAT}", ""
    yield from ((f"recording source {each.name}", "") for each in (*COLLECTORS, LIGHT))
    yield from _shape("recording ledger ", Entry, "validation")
    yield from _shape("state hours ", memory_file.Stored, "validation")


def _chart() -> Iterator[Named]:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    yield from _under("chart ", schema, schema)
    for path in sorted((CHART / "alerts").glob("*.yaml")):
        for group in YAML(typ="safe").load(path)["groups"]:
            for rule in group["rules"]:
                [(kind, name)] = [(kind, rule[kind]) for kind in ("alert", "record") if kind in rule]
                yield f"{kind} {name}", ""


def _shape(prefix: str, shape: Any, mode: str) -> Iterator[Named]:
    schema = TypeAdapter(shape).json_schema(mode=mode)  # type: ignore[arg-type]
    yield from _under(prefix, schema, schema)


def _under(prefix: str, schema: Any, document: Any) -> Iterator[Named]:
    yield from ((prefix + name, said) for name, said in fields(schema, document))
