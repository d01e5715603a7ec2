"""The miss curve against real servers: workloads, and pools really made of each size."""
