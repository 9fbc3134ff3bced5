"""The API of a home on which no supervisor runs: its own endpoints, which change nothing."""
