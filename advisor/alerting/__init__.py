"""Findings posted to Alertmanagers as alerts."""
