"""`python -m lab.dashboards`: write the dashboards of the chart, and the tables of their page, anew."""

from lab.dashboards.everything import write

write()
