"""Rules and windows to advice."""
