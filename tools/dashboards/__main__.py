"""`python -m tools.dashboards`: write the chart's dashboards, and the tables of docs/dashboards.md."""

from tools.dashboards.registry import write

write()
