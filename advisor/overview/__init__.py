"""What the newest snapshots show, for pictures. Missing is None, and ``lacks`` says why."""
