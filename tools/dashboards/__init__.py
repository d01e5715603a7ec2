"""The Grafana dashboards as code.

`python -m tools.dashboards` writes their JSON and the tables of docs/dashboards.md.
"""
