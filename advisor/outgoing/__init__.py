"""How this program asks other HTTP servers: login, TLS, connections."""
