"""All benchmarks, in the page's order."""

from lab.bench import advice, curve, fleet, load, memory, model, peer, sharing, sizes, whatif

BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        peer.BENCHMARK,
        advice.BENCHMARK,
        sizes.POOL,
        sizes.CATALOGUE,
        sharing.BENCHMARK,
        load.BENCHMARK,
        memory.BENCHMARK,
        whatif.BENCHMARK,
        curve.BENCHMARK,
        model.BENCHMARK,
        fleet.BENCHMARK,
    )
}
SHORT = ("peer", "model")
"""The short form, which CI measures: what a scrape costs, and what the model does."""
