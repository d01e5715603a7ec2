"""What a server did over the last hour: events, and series of numbers."""
