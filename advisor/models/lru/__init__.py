"""The model of InnoDB's midpoint LRU list."""
