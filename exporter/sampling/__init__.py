"""When each collector runs, and how its answers become Snapshots."""
