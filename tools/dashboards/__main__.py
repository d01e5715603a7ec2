"""`python -m tools.dashboards`: write the dashboards of the chart, and the tables of their page, anew."""

from tools.dashboards.everything import write

write()
