"""A release, built and checked on this machine: `make dist`."""
