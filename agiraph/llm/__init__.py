"""Language models: the services that answer, their wire formats, recordings, and the proxy for
external agents."""
