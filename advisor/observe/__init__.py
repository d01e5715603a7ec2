"""Windows of Snapshots, from a server that is watched or from a recording."""
