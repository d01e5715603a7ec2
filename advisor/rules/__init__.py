"""Rule files: read, checked, and kept in force."""
