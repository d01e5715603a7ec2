"""Panels of the dashboards: a title, a description, a unit, and queries.

Line colours carry no meaning, except for severities. A threshold needs a fact that backs it. Gaps stay gaps: a missing
value is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common as shapes
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus, stat, table, text, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat
from grafana_foundation_sdk.models.text import TextMode

from tools.dashboards.promql import OPTIONAL

Panel = Builder[dashboard.Panel]

SOURCE = dashboard.DataSourceRef(type_val="prometheus", uid="${datasource}")
PLACE = (*OPTIONAL, "instance")
"""Columns that name a server; a table leaves out those that no series has."""
WHERE = " ".join(f"{{{{{label}}}}}" for label in PLACE)
SEVERITIES = {"info": "blue", "warning": "orange", "critical": "red"}
PAGE = "${__data.fields.Page}"
"""The link to the label ``url`` of a table's row, which has no column of its own."""
WIDE, HALF, THIRD, QUARTER = 24, 12, 8, 6
HEIGHT, LOW = 8, 4
_NAMES = "ABCDEFGH"
_NO_COLOUR = build.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps([dashboard.Threshold(None, "text")])


@dataclass(frozen=True)
class Query:
    """A query of a panel.

    Attributes:
        expression: PromQL.
        legend: Name of its series; in a table, the title of its column.
        unit: Its unit, if it differs from the panel's.
        dashed: Whether its lines are limits or targets.
    """

    expression: str
    legend: str = ""
    unit: str = ""
    dashed: bool = False


def graph(
    title: str,
    about: str,
    unit: str,
    *queries: Query,
    width: int = THIRD,
    stacked: bool = False,
    most: float | None = None,
    limit: float | None = None,
    colours: Mapping[str, str] | None = None,
    page: str = "",
) -> Panel:
    """Lines over time, from 0 on.

    Args:
        title: Its title.
        about: Its meaning, and what to look for.
        unit: Grafana's name of the unit.
        queries: One line or several each.
        width: In columns of the grid.
        stacked: Whether the lines are stacked.
        most: The end of the axis, if the unit has one.
        limit: A value whose meaning a fact backs; shown as a dashed line.
        colours: Conventional colours of lines, by legend.
        page: The title of each line's link to the address in its label ``url``; none by default.
    """
    panel = (
        timeseries.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .span(width)
        .height(HEIGHT)
        .min(0)
        .targets([_range(query, name) for query, name in zip(queries, _NAMES, strict=False)])
        .thresholds(_NO_COLOUR)
        .color_scheme(build.FieldColor().mode(dashboard.FieldColorModeId.PALETTE_CLASSIC))
        .fill_opacity(30 if stacked else 0)
        .stacking(shapes.StackingConfig().mode(common.StackingMode.NORMAL if stacked else common.StackingMode.NONE))
        .legend(
            shapes.VizLegendOptions()
            .show_legend(True)
            .display_mode(common.LegendDisplayMode.TABLE)
            .placement(common.LegendPlacement.BOTTOM)
            .calcs(["lastNotNull", "max"])
            .sort_by("Max")
            .sort_desc(True)
        )
        .tooltip(shapes.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING))
    )
    if most is not None:
        panel.max(most)
    if limit is not None:
        steps = [dashboard.Threshold(None, "text"), dashboard.Threshold(limit, "orange")]
        panel.thresholds(build.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(steps))
        panel.thresholds_style(shapes.GraphThresholdsStyleConfig().mode(common.GraphTresholdsStyleMode.DASHED))
    for query, name in zip(queries, _NAMES, strict=False):
        own = []
        if query.dashed:
            own.append(dashboard.DynamicConfigValue("custom.lineStyle", {"fill": "dash", "dash": [10, 10]}))
            own.append(dashboard.DynamicConfigValue("custom.fillOpacity", 0))
            own.append(dashboard.DynamicConfigValue("custom.stacking", {"mode": "none"}))
        if query.unit:
            own.append(dashboard.DynamicConfigValue("unit", query.unit))
        if own:
            panel.override_by_query(name, own)
    for name, colour in (colours or {}).items():
        panel.override_by_name(name, [dashboard.DynamicConfigValue("color", {"mode": "fixed", "fixedColor": colour})])
    if page:
        panel.override_by_field_type("number", [_links({page: "${__field.labels.url}"})])
    return panel


def figure(
    title: str, about: str, unit: str, query: Query, *, width: int = QUARTER, names: Mapping[str, str] | None = None
) -> Panel:
    """The newest value, in large type; ``names`` maps values to words."""
    panel = (
        stat.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .span(width)
        .height(LOW)
        .targets([_instant(query, "A").format(PromQueryFormat.TIME_SERIES)])
        .thresholds(_NO_COLOUR)
        .color_mode(common.BigValueColorMode.NONE)
        .graph_mode(common.BigValueGraphMode.NONE)
        .reduce_options(shapes.ReduceDataOptions().calcs(["lastNotNull"]))
        .no_value("not known")
    )
    return panel.mappings([_named(names)]) if names else panel


def rows(
    title: str,
    about: str,
    *queries: Query,
    columns: Sequence[str],
    width: int = WIDE,
    height: int = HEIGHT,
    sort: str = "",
    hidden: Sequence[str] = (),
    links: Mapping[str, Mapping[str, str]] | None = None,
    empty: str = "none",
) -> Panel:
    """A table of current values: a row for each set of labels, a column for each label and each query.

    Args:
        title: Its title.
        about: Its meaning.
        queries: Queries with the same labels; one column each, unless the legend is empty.
        columns: The labels, in order.
        width: In columns of the grid.
        height: In rows of the grid.
        sort: The title of the column to sort by, largest first.
        hidden: Labels of the queries without a column.
        links: By the title of a column: the targets of its values' links, by their titles.
        empty: The text displayed without rows.
    """
    named = {f"Value #{name}": query.legend for query, name in zip(queries, _NAMES, strict=False)}
    named["Value"] = queries[0].legend  # Grafana's name for the values of the only query that has any
    displayed = [*columns, *(name for name, title in named.items() if title)]
    left_out = ["Time", *hidden, *(name for name, title in named.items() if not title)]
    titles = (
        {label: label.capitalize() for label in columns}
        | {"url": "Page"}
        | {name: named[name] for name in named if named[name]}
    )
    arranged = {
        "excludeByName": dict.fromkeys(left_out, True),
        "indexByName": {name: place for place, name in enumerate(displayed)},
        "renameByName": titles,
    }
    panel = (
        table.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit("short")
        .span(width)
        .height(height)
        .targets(
            [_instant(query, name).format(PromQueryFormat.TABLE) for query, name in zip(queries, _NAMES, strict=False)]
        )
        .thresholds(_NO_COLOUR)
        .with_transformation(dashboard.DataTransformerConfig(id_val="merge", options={}))
        .with_transformation(dashboard.DataTransformerConfig(id_val="organize", options=arranged))
        .no_value(empty)
    )
    for query in queries:
        if query.legend and query.unit:
            panel.override_by_name(query.legend, [dashboard.DynamicConfigValue("unit", query.unit)])
    panel.override_by_name("Page", [dashboard.DynamicConfigValue("custom.hidden", True)])
    for column, targets in (links or {}).items():
        panel.override_by_name(column, [_links(targets)])
    if "severity" in columns:
        panel.override_by_name("Severity", _coloured(SEVERITIES))
    if sort:
        panel.sort_by([shapes.TableSortByFieldState().display_name(sort).desc(True)])
    return panel


def words(title: str, about: str, markdown: str, *, width: int = WIDE, height: int = LOW) -> Panel:
    """A panel of text."""
    return (
        text.Panel()
        .title(title)
        .description(about)
        .mode(TextMode.MARKDOWN)
        .content(markdown)
        .span(width)
        .height(height)
    )


def _links(targets: Mapping[str, str]) -> dashboard.DynamicConfigValue:
    """Links by title; those that leave Grafana open a tab of their own."""
    links = [{"title": title, "url": url, "targetBlank": not url.startswith("/")} for title, url in targets.items()]
    return dashboard.DynamicConfigValue("links", links)


def _coloured(colours: Mapping[str, str]) -> list[dashboard.DynamicConfigValue]:
    """Colours of texts; each text stays as it is."""
    options = {text: {"color": colour, "index": place} for place, (text, colour) in enumerate(colours.items())}
    return [
        dashboard.DynamicConfigValue("mappings", [{"type": "value", "options": options}]),
        dashboard.DynamicConfigValue("custom.cellOptions", {"type": "color-text"}),
    ]


def _named(names: Mapping[str, str]) -> dashboard.ValueMap:
    return dashboard.ValueMap({value: dashboard.ValueMappingResult(text=word) for value, word in names.items()})


def _query(query: Query, name: str) -> prometheus.Dataquery:
    dataquery = prometheus.Dataquery().expr(query.expression).ref_id(name).datasource(SOURCE)
    return dataquery.legend_format(query.legend) if query.legend else dataquery


def _range(query: Query, name: str) -> prometheus.Dataquery:
    return _query(query, name).range()


def _instant(query: Query, name: str) -> prometheus.Dataquery:
    return _query(query, name).instant()
