"""What a change of settings would do: the LRU model fitted to a window, and asked."""
