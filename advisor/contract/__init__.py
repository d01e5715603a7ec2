"""The contract with users: recommendations, changes of settings, and the texts in them."""
