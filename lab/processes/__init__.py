"""Child processes, and the ports they listen on."""
