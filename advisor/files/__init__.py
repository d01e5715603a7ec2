"""Files that users write: YAML with positions, TLS files, and reloading."""
