"""One way to measure on a real server: bring it into a state, put a load on it, watch, follow, measure, record."""
