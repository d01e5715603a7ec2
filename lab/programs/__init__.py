"""Real programs beside the servers: Prometheus, Alertmanager, sysbench, mysqld_exporter."""
