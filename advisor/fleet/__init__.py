"""Advice for many servers from the series that a Prometheus has of them. No connection to any server."""
