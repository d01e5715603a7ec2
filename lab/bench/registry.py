"""All figures, in the table's order."""

from lab.bench import advice, catalogue, curve, fleet, load, memory, model, peer, pool_size, sharing, whatif
from lab.bench.figures import Figure

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        module.FIGURE
        for module in (peer, advice, pool_size, catalogue, sharing, load, memory, whatif, curve, model, fleet)
    )
}

SHORT = ("peer", "model")
"""The figures of the short form, which CI measures: what a scrape costs, and what the model does."""
