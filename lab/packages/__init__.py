"""Packages fetched by their ordinary clients, unpacked privately and cached."""
