"""The sidecar's OpenAPI document, for the build: `python -m advisor.http.description` prints it."""

from __future__ import annotations

import sys

from fastapi import FastAPI

from advisor.advice.service import Service
from advisor.http import app as application
from advisor.http.pages import described
from advisor.rules.rulebook import Rulebook, builtin_directory
from exporter.connection.target import Target
from exporter.sampling.sampler import Sampler


def undescribed() -> FastAPI:
    """The application with the built-in rules, for a server that nobody asks."""
    return application.create(Service(Sampler(Target()), Rulebook(builtin_directory())))


if __name__ == "__main__":
    sys.stdout.write(described(undescribed()))
