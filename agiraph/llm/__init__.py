"""Language models: services, wire formats, recordings, and the proxy for external agents."""
