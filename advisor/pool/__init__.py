"""The model of the buffer pool: what other settings and sizes would read, and how sure that is."""
