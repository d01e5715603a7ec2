"""Child processes, a server in a thread, their ports, and what a process uses."""
