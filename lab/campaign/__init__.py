"""Long runs on real servers, in parts: resumable, with progress and records."""
