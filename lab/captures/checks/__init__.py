"""Checks that a capture shows its scenario, by subject."""
