"""Every rule's proof on real servers."""

from lab.harness.records import Part
from lab.proofs import (
    blind_spots,
    change_buffer,
    change_buffer_size,
    counts,
    ddl,
    flushing,
    harm,
    io,
    page_cache,
    pool,
    readers,
    scans,
    spare,
    statistics,
    warmup,
)
from lab.proofs.base import CounterProof

_MODULES = (
    scans,
    pool,
    spare,
    change_buffer,
    change_buffer_size,
    counts,
    readers,
    ddl,
    io,
    page_cache,
    flushing,
    warmup,
    statistics,
    blind_spots,
    harm,
)
PROOFS = tuple(proof for module in _MODULES for proof in module.PROOFS)
COUNTER_PROOFS = tuple(proof for module in _MODULES for proof in module.COUNTER_PROOFS)

SHORT = (
    "scan-exceeds-old-sublist: mysql-9.7",
    "scan-exceeds-old-sublist: mariadb-11.8",
    "scan-exceeds-old-sublist: folklore 1, mysql-9.7",
    "scan-exceeds-buffer-pool: mysql-9.7",
    "scan-exceeds-buffer-pool: folklore 1, mysql-9.7",
    "change-buffering-would-help: mysql-9.7",
)
"""The parts of the short form. They count pages that no other work on the machine changes."""


def parts() -> list[Part]:
    """All parts; a rule's counter-proofs follow its proofs."""
    return [
        part
        for proof in PROOFS
        for part in (*proof.parts(), *(each.part(number) for number, each in _counter_proofs(proof.rule)))
    ]


def short_form() -> list[Part]:
    """Proofs and counter-proofs for every change: those of `SHORT`."""
    return [part for part in parts() if str(part) in SHORT]


def _counter_proofs(rule: str) -> list[tuple[int, CounterProof]]:
    """A rule's, numbered from 1."""
    return list(enumerate((each for each in COUNTER_PROOFS if each.rule == rule), 1))
