"""Files that users write: YAML with positions, quantities, TLS files, and reloading."""
