"""The connection to the server: where it is, who logs in, and the two sessions that are kept open."""
