"""The coordinator's process: it leads an agent's runs, and is the only writer of their boards."""
