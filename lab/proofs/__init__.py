"""Every rule's proof on real servers."""

from lab.campaign import Part
from lab.proofs import (
    blind_spots,
    change_buffer,
    change_buffer_size,
    counts,
    ddl,
    flushing,
    io,
    page_cache,
    pool,
    readers,
    scans,
    warmup,
)

_MODULES = (
    scans,
    pool,
    change_buffer,
    change_buffer_size,
    counts,
    readers,
    ddl,
    io,
    page_cache,
    flushing,
    warmup,
    blind_spots,
)
PROOFS = tuple(proof for module in _MODULES for proof in module.PROOFS)
COUNTER_PROOFS = tuple(proof for module in _MODULES for proof in module.COUNTER_PROOFS)

SHORT = ("mysql-9.7", "mariadb-10.11")
"""The servers of the short form, the first of which is taken where a rule is proved on both."""


def parts() -> list[Part]:
    """All of them, a rule's counter-proofs after its proofs."""
    found = []
    for proof in PROOFS:
        found += proof.parts()
        counters = [each for each in COUNTER_PROOFS if each.rule == proof.rule]
        found += [each.part(number) for number, each in enumerate(counters, 1)]
    return found


def short_form() -> list[Part]:
    """Each rule's proof on one server, and its counter-proofs on either."""
    where = {proof.rule: next((server for server in SHORT if server in proof.options), None) for proof in PROOFS}
    return [
        part
        for part in parts()
        if (part.server in SHORT if part.name != part.server else part.server == where[part.subject])
    ]
