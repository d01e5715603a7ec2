"""Advice for people: text, markdown and tables."""
