"""The coordinator's process: an agent's brain and face, and the only writer of its board."""
