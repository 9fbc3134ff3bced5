"""The endpoints about the home: access, settings, hosts, channels, metrics, earlier work."""
