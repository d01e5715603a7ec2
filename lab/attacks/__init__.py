"""Attacks on a running sidecar, as an outsider would make them, each with a bound: `make attack`."""
