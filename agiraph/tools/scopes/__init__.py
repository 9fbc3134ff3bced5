"""Who may read and write which file; every path that a model names is resolved here."""
