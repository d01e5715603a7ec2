"""What all measurements on real servers have in common.

- workloads: tables of a known size, an empty pool (state), and work on them, once or in the background (load);
- watch: the sidecar's sampler beside a load, and what the rules judge of its window;
- follow: a recommendation's statements, executed unchanged and taken back;
- measure: figures of a piece of work by name, from seconds and any counters of the server;
- records: a part of a campaign, its result, and lab/records;
- campaign: a resumable run over parts, its progress, and its exit status.

Proofs, the gauntlet, outcomes, experiments, curves and warm-ups are made of these.
"""
