"""The Grafana dashboards as code. `python -m lab.dashboards` writes their JSON and the tables of docs/dashboards.md."""
