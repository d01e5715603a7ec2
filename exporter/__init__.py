"""What the server is doing: rows from MySQL or MariaDB to a typed Snapshot and to Prometheus metrics."""

__version__ = "0.1.0"
