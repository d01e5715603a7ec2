"""Every rule's proof on real servers."""

from lab.harness.campaign import Study
from lab.proofs import (
    blind_spots,
    change_buffer,
    counts,
    ddl,
    flushing,
    harm,
    io,
    pool,
    readers,
    scans,
    spare,
    statistics,
    warmup,
)
from lab.proofs.proof import CounterProof

_MODULES = (
    scans,
    pool,
    spare,
    change_buffer,
    counts,
    readers,
    ddl,
    io,
    flushing,
    warmup,
    statistics,
    blind_spots,
    harm,
)
PROOFS = tuple(proof for module in _MODULES for proof in module.PROOFS)
COUNTER_PROOFS = tuple(proof for module in _MODULES for proof in module.COUNTER_PROOFS)
PROVED = tuple(dict.fromkeys(proof.rule for proof in PROOFS))

SHORT = (
    "scan-exceeds-old-sublist: mysql-9.7",
    "scan-exceeds-old-sublist: mariadb-11.8",
    "scan-exceeds-old-sublist: folklore 1, mysql-9.7",
    "scan-exceeds-buffer-pool: mysql-9.7",
    "scan-exceeds-buffer-pool: folklore 1, mysql-9.7",
    "change-buffering-would-help: mysql-9.7",
)
"""The parts of the short form. They count pages that no other work on the machine changes."""


def studies() -> list[Study]:
    """A study for each rule: its proofs, and then its counter-proofs, numbered from 1."""
    return [
        Study(
            [
                *(part for proof in PROOFS if proof.rule == rule for part in proof.parts()),
                *(counter.part(number, server) for number, (counter, server) in enumerate(counters(rule), 1)),
            ]
        )
        for rule in PROVED
    ]


def counters(rule: str) -> list[tuple[CounterProof, str]]:
    """A rule's counter-proofs, each on each of its servers."""
    return [(counter, server) for counter in COUNTER_PROOFS if counter.rule == rule for server in counter.options]
