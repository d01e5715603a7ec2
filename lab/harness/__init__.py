"""What all measurements on real servers have in common.

- workloads: tables of a known size, an empty pool (state), and work on them, once or in the background (load);
- watch: the sidecar's sampler beside a load, and what the rules judge of its window;
- follow: a recommendation's statements, executed unchanged and taken back;
- measure: figures of a piece of work by name, from seconds and any counters of the server;
- records: a part, which is one server's share of a study, and the records in lab/records;
- campaign: studies, which are parts that are judged and recorded together; a resumable run over them, its progress, and
  its exit status.

Proofs, the gauntlet, outcomes, experiments, curves, warm-ups, the steady load and captures are studies of one campaign.
"""
