"""Reads of smaller pools as a restart foretells them, through a real Prometheus, against pools really made so small."""
