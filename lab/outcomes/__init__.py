"""What becomes of advice that is followed by hand: the ledger's outcome beside the lab's own count."""
