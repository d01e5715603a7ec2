"""A dashboard from its rows of panels, with the variables, links and annotations of all dashboards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard

from tools.dashboards.panels import SOURCE, WHERE, Panel
from tools.dashboards.promql import OPTIONAL, TARGET, of, on

TAG = "innodb-advisor"
EVERYTHING, EVERYTHING_OR_NOTHING = ".+", ".*"
"""Values of "All": for a fleet, a list of all names would make too long a query. The second matches no label, too."""


@dataclass(frozen=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Board:
    """A dashboard.

    Attributes:
        uid: Its identity for links and imports; it must never change.
        title: Its title.
        about: Its content, in a sentence or two.
        rows: Its rows.
        all_instances: Whether it opens with all instances, or with the first.
    """

    uid: str
    title: str
    about: str
    rows: Sequence[Row]
    all_instances: bool = False

    def json(self) -> str:
        """Its JSON model for Grafana's import; deterministic."""
        return json.dumps(self._built(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    def _built(self) -> dashboard.Dashboard:
        board = (
            build.Dashboard(self.title)
            .uid(self.uid)
            .description(self.about)
            .tags([TAG])
            .editable()
            .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
            .time("now-3h", "now")
            .refresh("1m")
            .timezone("browser")
            .variables([*_variables(all_instances=self.all_instances)])
            .annotations([*_annotations(shown=not self.all_instances)])
            .link(
                build.DashboardLink("innodb-advisor")
                .type(dashboard.DashboardLinkType.DASHBOARDS)
                .tags([TAG])
                .icon("external link")
                .include_vars(True)
                .keep_time(True)
            )
        )
        for row in self.rows:
            board.with_row(build.Row(row.title))
            for panel in row.panels:
                board.with_panel(panel)
        model = board.build()
        for number, built in enumerate(model.panels or (), start=1):
            built.id_val = number
        return model


@dataclass(frozen=True)
class _Event(Builder[dashboard.AnnotationQuery]):
    """A mark on every panel at each time when a query has a value above 0."""

    name: str
    colour: str
    expression: str
    title: str
    text: str
    shown: bool = True

    def build(self) -> dashboard.AnnotationQuery:
        return _Marks(self)


class _Marks(dashboard.AnnotationQuery):
    """An annotation with the fields of the Prometheus data source, which the SDK lacks."""

    def __init__(self, event: _Event) -> None:
        super().__init__(event.name, SOURCE, event.shown, icon_color=event.colour, expr=event.expression)
        self._formats = {"titleFormat": event.title, "textFormat": event.text}

    def to_json(self) -> dict[str, object]:
        return super().to_json() | self._formats


def _variables(*, all_instances: bool) -> Iterator[Builder[dashboard.VariableModel]]:
    yield build.DatasourceVariable("datasource").label("Data source").type("prometheus")
    for place, name in enumerate(TARGET):
        before = ",".join(f'{label}=~"${label}"' for label in TARGET[:place])
        of_what = f"innodb_up{{{before}}}" if before else "innodb_up"
        variable = (
            build.QueryVariable(name)
            .label(name.capitalize())
            .query({"query": f"label_values({of_what}, {name})", "refId": name})
            .datasource(SOURCE)
            .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
            .sort(dashboard.VariableSort.ALPHABETICAL_ASC)
            .multi(True)
            .include_all(all_instances or name != "instance")
        )
        # Also if All is not in the list: a link may contain it.
        yield variable.all_value(EVERYTHING_OR_NOTHING if name in OPTIONAL else EVERYTHING)


def _annotations(*, shown: bool) -> Iterator[_Event]:
    before = of("innodb_setting_info") + " offset $__rate_interval"
    uptime = of("innodb_server_uptime_seconds")
    yield _Event(
        "Restarts",
        "red",
        # An uptime shorter than the time since the last sample means a restart. Crash recovery counts as uptime, so a
        # large server may already have a long uptime at its first sample. One second allows for rounding.
        f"{uptime} < 2 * $__interval_ms / 1000 or "
        f"{uptime} < timestamp({uptime}) - 1 - last_over_time(timestamp({uptime})[1h:$__interval] offset $__interval)",
        "The server was started",
        WHERE,
        shown,
    )
    yield _Event(
        "Settings",
        "blue",
        f"({of('innodb_setting_info')} unless {before}) and {on('name')} ({before})",
        "A setting was changed",
        f"{WHERE}: {{{{name}}}} = {{{{value}}}}",
        shown,
    )


def queries(model: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The queries of a dashboard's panels, with the title of each panel."""
    for panel in panels(model):
        for target in panel.get("targets", ()):
            yield panel["title"], target


def panels(model: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The panels of a JSON model, without the rows' headings."""
    yield from (panel for panel in model["panels"] if panel["type"] != "row")
