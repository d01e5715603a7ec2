"""A long steady load: each finding must come once, stay, and outlive the delay of its alert."""
