"""Real programs beside the servers: Prometheus, Alertmanager, sysbench, go-tpc, go-ycsb, mysqld_exporter and others.

Each module has the program's command line, and functions that run it. They raise `UnavailableHere` where the program
cannot be had on this machine, and `ProgramFailed`, with its output, where it does not start, fails, or ends too early.
"""
