"""The model services, one module per kind of service."""
