"""What another version of the server does to the workload that was watched."""
