"""The owners of settings: where a line goes, and what they do with it."""
