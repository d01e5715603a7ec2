"""Models of InnoDB: pure functions, no I/O."""
