"""The server of the Model Context Protocol: what agents ask, answered from the HTTP API of a sidecar or a fleet."""
