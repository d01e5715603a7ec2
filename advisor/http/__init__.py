"""The HTTP face: endpoints, the page, and everything between them and the network."""
