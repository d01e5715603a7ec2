"""The change, ready to merge: a patch for whoever owns the setting, its cost, its limits, its way back. Pure."""
