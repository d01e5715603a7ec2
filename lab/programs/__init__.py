"""Real programs beside the servers: Prometheus, Alertmanager, sysbench, go-tpc, go-ycsb, mysqld_exporter."""
