"""The wire formats of model services, one module a format, and what they share."""
