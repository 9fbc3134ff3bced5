"""`agiraph run`: its supervisor, its progress, its outcome."""
