"""What to change: windows of Snapshots, rules and models, and the recommendations they lead to."""
