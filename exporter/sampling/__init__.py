"""The sampler: runs collectors on schedule, and makes Snapshots of their answers."""
