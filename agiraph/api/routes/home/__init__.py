"""Endpoints for the home: access, settings, hosts, channels, metrics, knowledge database."""
