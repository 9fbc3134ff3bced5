"""Settings: the files in which a person configures Agiraph, read, checked and edited."""
