"""Rules without a proof, the sources of their cases, and the servers that are unavailable here."""

from __future__ import annotations

from advisor.casetest import cases
from exporter.server import identify
from lab.harness.watch import rules, the_rule

UNPROVED = {
    "count-ignores-secondary-index": "Only MySQL 8.0.17 to 8.0.36 and 8.1 to 8.3 count by the clustered index in any"
    " case; none of them can be had here.",
    "parallel-read-threads-over-cores": "Only MySQL 8.0.14 to 8.0.25 (on Windows to 8.0.23) can stall for it; none of"
    " them can be had here.",
}
"""The rules without a proof, and the servers that one would need."""

_NOT_HAD = {
    "MySQL 5.7": {"version": "5.7.44"},
    "MySQL 8.0 up to 8.0.25": {"version": "8.0.25"},
    "MySQL 8.0 from 8.0.37 on": {"version": "8.0.43"},
    "MySQL 8.4": {"version": "8.4.7"},
    "Percona Server 8.4": {"version": "8.4.6-6", "version_comment": "Percona Server (GPL)"},
    "MariaDB 10.6": {"version": "10.6.23-MariaDB"},
    "MariaDB 11.4": {"version": "11.4.8-MariaDB"},
    "Amazon Aurora MySQL 3": {"version": "8.0.39", "aurora_version": "3.08.0"},
    "Amazon RDS for MySQL 8.4": {"version": "8.4.7", "basedir": "/rdsdbbin/mysql-8.4.7/"},
    "Azure Database for MySQL 8.4": {"version": "8.4.7", "aad_auth_only": "OFF"},
    "Google Cloud SQL for MySQL 8.4": {"version": "8.4.7", "cloudsql_iam_authentication": "OFF"},
}
"""Servers that are unavailable here, and the variables by which the sidecar identifies them."""


def rests_on(rule: str) -> tuple[str, ...]:
    """What the cases of a rule without a proof rest on.

    These are the captures that they replay under such a server's version, and the documents that name these versions.
    """
    unproved = the_rule(rule)
    captures = dict.fromkeys("/".join(case.recording.parts[-3:-1]) for case in cases.load(unproved))
    return (*captures, *unproved.file.references)


def _applying(variables: dict[str, str]) -> tuple[str, ...]:
    server = identify(variables)
    return tuple(rule.id for rule in rules() if server in rule.file.applies)


UNAVAILABLE_SERVERS = {name: _applying(variables) for name, variables in _NOT_HAD.items()}
"""The rules that apply to each unavailable server. They rest on its documentation, and on the code that it shares with
a series on which they are proved."""
