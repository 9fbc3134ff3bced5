"""The services that answer, one module a kind of service."""
