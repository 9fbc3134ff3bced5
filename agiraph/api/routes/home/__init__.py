"""Endpoints for the home: access, settings, hosts, channels, metrics, context database."""
