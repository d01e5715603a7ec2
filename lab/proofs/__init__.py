"""Every rule's proof on real servers."""

from lab.campaign.part import Part
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

SHORT = ("mysql-9.7", "mariadb-10.11")
"""The servers of the short form; the first one wins for a rule that is proved on both."""


def parts() -> list[Part]:
    """All parts; a rule's counter-proofs follow its proofs."""
    return [
        part
        for proof in PROOFS
        for part in (*proof.parts(), *(each.part(number) for number, each in _counter_proofs(proof.rule)))
    ]


def short_form() -> list[Part]:
    """Each rule's proof on one server, and the counter-proofs on the short form's servers."""
    found = []
    for proof in PROOFS:
        where = next((server for server in SHORT if server in proof.options), None)
        found += [part for part in proof.parts() if part.server == where]
        counters = _counter_proofs(proof.rule)
        found += [each.part(number) for number, each in counters if each.short and each.server in SHORT]
    return found


def _counter_proofs(rule: str) -> list[tuple[int, CounterProof]]:
    """A rule's, numbered from 1."""
    return list(enumerate((each for each in COUNTER_PROOFS if each.rule == rule), 1))
